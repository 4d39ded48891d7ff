// Oracle prints what Kubernetes' own CEL library (k8s.io/dynamic-resource-allocation/cel)
// says of device selectors, so that tests compare verdicts instead of opinions.
//
// It reads JSON lines {"expression", "device": {"driver", "allowMultipleAllocations",
// "attributes", "capacity"}} and answers each with one JSON line:
//
//	compile_error, match, eval_error, cost   what the scheduler does with a stored expression
//	create_error, max_cost                   what the API server says when one is created
//	create_error_lists                       the same with the gate DRAListTypeAttributes on
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apiserver/pkg/cel/environment"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

type capacity struct {
	Value string `json:"value"`
}

type device struct {
	Driver                   string                                                    `json:"driver"`
	AllowMultipleAllocations *bool                                                     `json:"allowMultipleAllocations"`
	Attributes               map[resourceapi.QualifiedName]resourceapi.DeviceAttribute `json:"attributes"`
	Capacity                 map[resourceapi.QualifiedName]capacity                    `json:"capacity"`
}

type question struct {
	Expression string `json:"expression"`
	Device     device `json:"device"`
}

type answer struct {
	CompileError     *string `json:"compile_error"`
	Match            *bool   `json:"match"`
	EvalError        *string `json:"eval_error"`
	Cost             *uint64 `json:"cost"`
	CreateError      *string `json:"create_error"`
	MaxCost          *uint64 `json:"max_cost"`
	CreateErrorLists *string `json:"create_error_lists"`
}

var (
	plain = dracel.Features{EnableConsumableCapacity: true}
	lists = dracel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true}
)

func said(text string) *string { return &text }

// guarded runs a step of the library, which panics on a few expressions; a panic is a refusal.
func guarded(step func() *string) (said *string) {
	defer func() {
		if problem := recover(); problem != nil {
			text := fmt.Sprintf("panic: %v", problem)
			said = &text
		}
	}()
	return step()
}

// evaluate does what the scheduler does with a stored expression and one device.
func evaluate(q question, a *answer) {
	compiled := dracel.GetCompiler(plain).CompileCELExpression(q.Expression, dracel.Options{DisableCostEstimation: true})
	if compiled.Error != nil {
		a.CompileError = said(compiled.Error.Detail)
		return
	}
	input, err := q.Device.input()
	if err != nil {
		a.EvalError = said(err.Error())
		return
	}
	match, details, err := compiled.DeviceMatches(context.Background(), input)
	if details != nil {
		a.Cost = details.ActualCost()
	}
	if err != nil {
		a.EvalError = said(err.Error())
		return
	}
	a.Match = &match
}

func (d device) input() (dracel.Device, error) {
	made := dracel.Device{Driver: d.Driver, AllowMultipleAllocations: d.AllowMultipleAllocations, Attributes: d.Attributes}
	made.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{}
	for name, value := range d.Capacity {
		quantity, err := resource.ParseQuantity(value.Value)
		if err != nil {
			return made, fmt.Errorf("capacity %s: %w", name, err)
		}
		made.Capacity[name] = resourceapi.DeviceCapacity{Value: quantity}
	}
	return made, nil
}

// create does what the API server does with a new expression (validateCELExpression).
func create(features dracel.Features, expression string) (*string, *uint64) {
	if len(expression) > resourceapi.CELSelectorExpressionMaxLength {
		return said("Too long"), nil
	}
	kind := environment.NewExpressions
	compiled := dracel.GetCompiler(features).CompileCELExpression(expression, dracel.Options{EnvType: &kind})
	if compiled.Error != nil {
		return said(compiled.Error.Detail), nil
	}
	if compiled.MaxCost > resourceapi.CELSelectorExpressionMaxCost {
		return said("too complex, exceeds cost limit"), &compiled.MaxCost
	}
	return nil, &compiled.MaxCost
}

func read() []question {
	var questions []question
	scanner := bufio.NewScanner(os.Stdin)
	scanner.Buffer(nil, 64<<20)
	for scanner.Scan() {
		var q question
		if err := json.Unmarshal(scanner.Bytes(), &q); err != nil {
			fmt.Fprintln(os.Stderr, "not a question:", err)
			os.Exit(2)
		}
		questions = append(questions, q)
	}
	return questions
}

// The library keeps one compiler at a time: a pass per feature set, not per question.
func main() {
	questions := read()
	answers := make([]answer, len(questions))
	for i, q := range questions {
		a := &answers[i]
		if panicked := guarded(func() *string { evaluate(q, a); return nil }); panicked != nil {
			*a = answer{CompileError: panicked}
		}
		a.CreateError = guarded(func() (said *string) {
			said, a.MaxCost = create(plain, q.Expression)
			return said
		})
	}
	for i, q := range questions {
		answers[i].CreateErrorLists = guarded(func() *string {
			said, _ := create(lists, q.Expression)
			return said
		})
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, a := range answers {
		_ = encoder.Encode(a)
	}
}

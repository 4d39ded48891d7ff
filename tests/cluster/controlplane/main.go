// One program for every part of a Kubernetes control plane and for the kubelet.
//
// Nobody packages kube-apiserver for Debian or PyPI, but each component is an importable Go
// package. The name the program is called by picks the component, so a directory of symbolic
// links to one file is a whole Kubernetes, linked once.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"golang.org/x/sys/unix"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// parentVariable names the process that has to be this one's parent for as long as it runs.
const parentVariable = "CONTROLPLANE_PARENT"

// The wish is kept per thread (prctl(2)): init runs on the main thread, which lives as long as
// the process does.
func init() {
	if wanted, present := os.LookupEnv(parentVariable); present {
		if err := dieWithParent(wanted); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// dieWithParent asks the kernel to kill this process when its parent ends, however it ends.
func dieWithParent(wanted string) error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("cannot ask to be killed with the parent: %w", err)
	}
	// The parent may have ended before the kernel was asked.
	if got := strconv.Itoa(os.Getppid()); got != wanted {
		return fmt.Errorf("parent is process %s, not %s=%s", got, parentVariable, wanted)
	}
	return nil
}

func command(name string) (*cobra.Command, error) {
	switch name {
	case "kube-apiserver":
		return apiserver.NewAPIServerCommand(), nil
	case "kube-controller-manager":
		return controllermanager.NewControllerManagerCommand(), nil
	case "kube-scheduler":
		return scheduler.NewSchedulerCommand(), nil
	case "kubelet":
		return kubelet.NewKubeletCommand(context.Background()), nil
	case "kubectl":
		return kubectl.NewDefaultKubectlCommand(), nil
	}
	return nil, fmt.Errorf("%q is not a component of this program", name)
}

func main() {
	name := filepath.Base(os.Args[0])
	if name == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	c, err := command(name)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(cli.Run(c))
}

// The API server of Kubernetes 1.31, the only one that serves resource.k8s.io/v1alpha3 with
// suitableNodes: the version that the DeviceClass reference this project implements describes.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	os.Exit(cli.Run(app.NewAPIServerCommand()))
}

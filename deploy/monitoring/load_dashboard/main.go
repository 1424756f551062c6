// Loads a dashboard as strictly as Grafana's own types allow: unknown, missing and wrong fields are
// errors. Usage: load_dashboard FILE
package main

import (
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func load(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	plugins.RegisterDefaultPlugins()
	var loaded dashboard.Dashboard
	// Where all is well it returns an empty list, which is not nil.
	if err := loaded.UnmarshalJSONStrict(text); err != nil && err.Error() != "" {
		return err
	}
	return loaded.Validate()
}

func main() {
	if err := load(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Command vigil-docs writes the documents that are made from tables:
// docs/commands.md and the counts in README.md from the rows of the command table;
// docs/configuration.md, vigil.conf and the manual page from the directives;
// docs/compatibility.md from the lines of the conformance scripts that are skipped for
// Redis; docs/adr/README.md from the decisions there. It is run in the root of the repository.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", ".", "root of the repository")
	flag.Parse()
	if err := write(*root); err != nil {
		fmt.Fprintf(os.Stderr, "vigil-docs: %v\n", err)
		os.Exit(1)
	}
}

// write makes every document and stores those that have changed.
func write(root string) error {
	pages, err := documents(root)
	if err != nil {
		return err
	}
	for _, p := range pages {
		path := filepath.Join(root, p.path)
		if old, err := os.ReadFile(path); err == nil && string(old) == p.text {
			continue
		}
		if err := os.WriteFile(path, []byte(p.text), 0o644); err != nil {
			return fmt.Errorf("write %s: %w", p.path, err)
		}
		fmt.Println("wrote", path)
	}
	return nil
}

package main

import (
	"bytes"
	"embed"
	"fmt"
	"sort"
	"strings"
)

// demos are inputs that come with the program.
//
//go:embed testdata/*.csv
var demos embed.FS

// demo reads the input of a name. The error lists the names.
func demo(name string) ([]node, error) {
	text, err := demos.ReadFile("testdata/" + name + ".csv")
	if err != nil || name == "observations" {
		return nil, fmt.Errorf("unknown demo %q, available: %s", name, strings.Join(demoNames(), ", "))
	}
	return readNodes(bytes.NewReader(text))
}

func demoNames() (names []string) {
	files, err := demos.ReadDir("testdata")
	if err != nil {
		return nil
	}
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".csv"); name != "observations" {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

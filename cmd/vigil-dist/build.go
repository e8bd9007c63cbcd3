package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// environment is the environment of go for a target. Without cgo the programs
// need nothing of the system that they run on.
func environment(system, arch string) []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOFLAGS=")
}

// build makes every program for a target, in dir. Tables of symbols are left out,
// a third of the size: traces of a crash do not need them.
func (rel *release) build(dir, system, arch string) ([]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	flags := []string{"-pgo=off"} // for a trial, of what other builds have compiled: their paths are those of this machine
	if rel.profile != "off" {
		profile, err := filepath.Abs(rel.profile) // the programs are of several modules
		if err != nil {
			return nil, err
		}
		flags = []string{"-pgo=" + profile, "-trimpath"}
	}
	var made []string
	for _, p := range programs {
		path := filepath.Join(dir, p.name)
		if system == "windows" {
			path += ".exe"
		}
		args := append([]string{"build", "-C", p.module, "-buildvcs=true", "-ldflags=-s -w", "-o", path}, flags...)
		c := exec.Command("go", append(args, p.pkg)...)
		c.Env = environment(system, arch)
		if _, err := output(c); err != nil {
			return nil, err
		}
		made = append(made, path)
	}
	return made, nil
}

// licences returns the licences of everything that the programs are linked with,
// Go's included, as most of them ask for.
func licences(system, arch string) ([]byte, error) {
	dirs := map[string]string{} // module and version -> its folder
	for _, p := range programs {
		c := exec.Command("go", "list", "-C", p.module, "-deps",
			"-f", `{{with .Module}}{{if .Version}}{{.Path}} {{.Version}}|{{.Dir}}{{end}}{{end}}`, p.pkg)
		c.Env = environment(system, arch)
		lines, err := output(c)
		if err != nil {
			return nil, err
		}
		for line := range strings.SplitSeq(lines, "\n") {
			if name, dir, ok := strings.Cut(line, "|"); ok {
				dirs[name] = dir
			}
		}
	}
	root, err := output(exec.Command("go", "env", "GOROOT"))
	if err != nil {
		return nil, err
	}
	dirs["the Go library"] = root
	names := make([]string, 0, len(dirs))
	for name := range dirs {
		names = append(names, name)
	}
	slices.Sort(names)
	var all bytes.Buffer
	for _, name := range names {
		if err := appendLicence(&all, name, dirs[name]); err != nil {
			return nil, err
		}
	}
	return all.Bytes(), nil
}

// appendLicence adds the files that state the terms of the module in dir. One
// without any would be an oversight, and is an error.
func appendLicence(all *bytes.Buffer, name, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		upper := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(upper, "LICEN") && !strings.HasPrefix(upper, "COPYING") && !strings.HasPrefix(upper, "NOTICE") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(all, "==== %s: %s\n\n%s\n\n", name, e.Name(), bytes.TrimSpace(text))
		found = true
	}
	if !found {
		return fmt.Errorf("no licence of %s in %s", name, dir)
	}
	return nil
}

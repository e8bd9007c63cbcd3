// Command vigil-dist makes what is released: static programs for each system in
// an archive, Debian packages, and SHA256SUMS of all of them. It is run in the root
// of the repository.
//
//	vigil-dist [-out dist] [-targets linux/amd64,darwin/arm64]
//	vigil-dist [-out dist] -deb amd64,arm64
//
// What it makes depends on the commit and on the version of Go alone: paths are
// trimmed, and every time in a file is the time of the commit. Programs carry
// version and commit, and say so when the work tree was not clean.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

// program is built from a package of a module; both are folders, that of the
// package below that of the module.
type program struct{ name, module, pkg string }

// programs is what a release holds: a line each.
var programs = []program{
	{name: "vigil-server", module: ".", pkg: "./cmd/vigil-server"},
	{name: "vigil-session", module: "cmd/vigil-session", pkg: "."},
}

// platforms are the targets of a release, as GOOS/GOARCH.
const platforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

func main() {
	out := flag.String("out", "dist", "the output `folder`")
	targets := flag.String("targets", platforms, "systems to make archives for, as `GOOS/GOARCH`, with commas")
	deb := flag.String("deb", "", "make Debian packages of these `architectures`, with commas, in place of archives")
	profile := flag.String("pgo", "cmd/vigil-server/cpu.pprof", "the `profile` by which the compiler arranges the programs; off, and with the paths of this machine, for a trial")
	flag.Parse()
	if err := run(*out, *targets, *deb, *profile); err != nil {
		fmt.Fprintln(os.Stderr, "vigil-dist:", err)
		os.Exit(1)
	}
}

func run(out, targets, deb, profile string) error {
	rel, err := currentRelease()
	if err != nil {
		return err
	}
	rel.profile = profile
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if deb != "" {
		for arch := range strings.SplitSeq(deb, ",") {
			if err := rel.debianPackage(out, arch); err != nil {
				return fmt.Errorf("package for %s: %w", arch, err)
			}
		}
	} else {
		for target := range strings.SplitSeq(targets, ",") {
			if err := rel.archive(out, target); err != nil {
				return fmt.Errorf("archive for %s: %w", target, err)
			}
		}
	}
	return writeSums(out)
}

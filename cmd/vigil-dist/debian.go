package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// maintainer is the field of the package.
const maintainer = "the vigil maintainers <maintainers@vigildb.example>"

// debianPackage makes the package for an architecture with nfpm, from
// packaging/debian/nfpm.yaml. What that names below ${STAGE} is made here first.
func (rel *release) debianPackage(out, arch string) error {
	stage, err := os.MkdirTemp("", "vigil-dist")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	if _, err := rel.build(filepath.Join(stage, "bin"), "linux", arch); err != nil {
		return err
	}
	if err := rel.stageDocuments(stage, arch); err != nil {
		return err
	}
	c := exec.Command("go", "tool", "-modfile=.ci/packager/go.mod", "nfpm", "package", "--packager", "deb",
		"--config", packaging+"/debian/nfpm.yaml",
		"--target", filepath.Join(out, fmt.Sprintf("vigil_%s_%s.deb", rel.version, arch)))
	c.Env = append(os.Environ(), "STAGE="+stage, "ARCH="+arch, "VERSION="+rel.version,
		fmt.Sprintf("SOURCE_DATE_EPOCH=%d", rel.date.Unix()), "MAINTAINER="+maintainer)
	_, err = output(c)
	return err
}

// stageDocuments compresses what Debian wants compressed.
func (rel *release) stageDocuments(stage, arch string) error {
	terms, err := licences("linux", arch)
	if err != nil {
		return err
	}
	documents := map[string][]byte{"licenses": terms, "changelog": rel.debianChanges()}
	for _, path := range []string{packaging + "/vigil-server.8", sessionPackaging + "/vigil-session.8", "CHANGELOG.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		documents[filepath.Base(path)] = text
	}
	for name, text := range documents {
		err := replaceFile(filepath.Join(stage, name+".gz"), func(w io.Writer) error { return compress(w, text) })
		if err != nil {
			return err
		}
	}
	return nil
}

// debianChanges is the changelog in Debian's form. It names the version; what is
// new stands in ours.
func (rel *release) debianChanges() []byte {
	return fmt.Appendf(nil, "vigil (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n -- %s  %s\n",
		rel.version, maintainer, rel.date.Format(time.RFC1123Z))
}

func compress(w io.Writer, text []byte) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	return z.Close()
}

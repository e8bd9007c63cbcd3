package main

import (
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// A server that ends, or closes a connection for a reason, gives its client an EOF only.
func TestEndOfTheLogExplainsAnError(t *testing.T) {
	p := &process{name: "vigil"}
	p.cmd = exec.Command("sh", "-c", "echo begin; head -c 100000 /dev/zero | tr '\\0' x; echo; echo the reason >&2")
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := p.cmd.Run(); err != nil {
		t.Fatal(err)
	}
	err := p.explained(io.EOF)
	if !errors.Is(err, io.EOF) || !strings.HasSuffix(err.Error(), "x\nthe reason\n") || strings.Contains(err.Error(), "begin") || len(err.Error()) > 3*outputBytes {
		t.Errorf("got an error of %d bytes, %.60q", len(err.Error()), err)
	}
	if err := p.explained(nil); err != nil {
		t.Errorf("no error is explained by %v", err)
	}
}

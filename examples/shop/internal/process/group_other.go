//go:build !unix

package process

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

// terminate has no gentler way here.
func terminate(p *os.Process) error { return p.Kill() }

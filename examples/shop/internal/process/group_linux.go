package process

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

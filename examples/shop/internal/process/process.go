// Package process runs the programs of the demonstration and of its tests in a browser:
// each in a group of its own, so that a Ctrl-C at the terminal reaches their parent
// only, which ends them in order. On Linux they end with their parent in any case.
package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Process is a program that was started.
type Process struct {
	Name string
	log  string // the path of what it writes
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // of its end; valid after done
}

// Start starts the program at path. What it writes is appended to the file log.
func Start(name, log, path string, args ...string) (*Process, error) {
	out, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	p := &Process{Name: name, log: log, cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = ownGroup()
	started := make(chan error)
	go func() { // ends with the program
		// Linux ends the children of a thread with it, so this one is kept until then.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
		}
		p.err = errors.Join(p.err, out.Close())
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// ID is the number by which the system knows the program.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stop asks the program to end, insists after patience, and returns when it has ended.
// It is an error if the program had to be killed or reports a failure.
func (p *Process) Stop(patience time.Duration) error {
	if err := terminate(p.cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.Name, err)
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-p.done:
	case <-late.C:
		p.Kill()
		return fmt.Errorf("%s did not end within %s and was killed", p.Name, patience)
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w", p.Name, p.err)
	}
	return nil
}

// Kill ends the program at once, as kill -9 does, and returns when it has ended.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // an error says that it has ended
	<-p.done
}

// Tail returns the last lines that the program wrote.
func (p *Process) Tail(lines int) string {
	const most = 8 << 10
	f, err := os.Open(p.log)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		_, _ = f.Seek(max(0, info.Size()-most), io.SeekStart)
	}
	text, _ := io.ReadAll(f)
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

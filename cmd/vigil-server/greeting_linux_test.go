package main

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// onlyHere is set for a process that is to become a server in a network of its own. With the value "taken", its port is taken there.
const onlyHere = "VIGIL_TEST_ONLY_HERE"

// becomeServer makes this process the server without arguments, in a network that has nothing but a loopback.
func becomeServer() {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		panic(err)
	}
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		panic(err)
	}
	loopback.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, loopback); err != nil {
		panic(err)
	}
	if os.Getenv(onlyHere) == "taken" {
		l, err := net.Listen("tcp", "127.0.0.1:6379")
		if err != nil {
			panic(err)
		}
		other, err := l.(*net.TCPListener).File()
		if err != nil {
			panic(err)
		}
		if _, err := unix.FcntlInt(other.Fd(), unix.F_SETFD, 0); err != nil { // the server inherits it
			panic(err)
		}
	}
	panic(syscall.Exec(os.Args[1], os.Args[1:], os.Environ()))
}

// first starts the server without arguments in a folder, on the port of Redis, which no other process of this machine has in its way.
func first(t *testing.T, dir, port string) *process {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", binary)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), onlyHere+"="+port)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
	return startCommand(t, cmd)
}

func TestServerWithoutArgumentsGreetsInAnEmptyFolderOnly(t *testing.T) {
	dir := t.TempDir()
	p := ready(t, first(t, dir, "free"))
	if p.addr != "127.0.0.1:6379" {
		t.Errorf("it listens on %s", p.addr)
	}
	log := p.out.String()
	for _, want := range []string{"This is the first start here. The data is in " + dir + " ", "To connect: redis-cli -p 6379", "To stop: Ctrl-C, or SHUTDOWN", "--doctor", "docs/README.md"} {
		if strings.Count(log, want) != 1 {
			t.Errorf("it does not say %q once:\n%s", want, log)
		}
	}
	p.signal(t, os.Interrupt) // as Ctrl-C does
	if err := p.wait(); err != nil {
		t.Errorf("after Ctrl-C: %v\n%s", err, p.out)
	}
	for _, end := range []os.Signal{os.Kill, os.Interrupt} {
		p = ready(t, first(t, dir, "free"))
		if log := p.out.String(); strings.Contains(log, "first start") || strings.Contains(log, "To connect") {
			t.Errorf("a later start greets:\n%s", log)
		}
		p.signal(t, end)
		p.wait()
	}
}

func TestPortThatIsTakenIsAClearError(t *testing.T) {
	p := first(t, t.TempDir(), "taken")
	if err := p.wait(); err == nil {
		t.Error("it ends as if all were well")
	}
	log := p.out.String()
	if !strings.Contains(log, "address already in use") || !strings.Contains(log, "--port 6380") || strings.Contains(log, "first start") || strings.Contains(log, "panic") {
		t.Errorf("it does not say what is wrong and what helps, or greets:\n%s", log)
	}
}

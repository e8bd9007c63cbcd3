package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// process is a program that the tool started.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string
}

// start runs a program; its output goes to a file in dir.
func start(dir, name string, args ...string) (*process, error) {
	p := &process{name: filepath.Base(name), log: filepath.Join(dir, filepath.Base(name)+".log")}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p.cmd = exec.Command(name, args...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	return p, nil
}

// stop ends the program and waits for it.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(20*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	_ = p.cmd.Wait()
}

// cpu is the processor time used so far, of all threads.
func (p *process) cpu() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	var ticks int64
	for _, f := range fields[11:13] { // user and system
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("processor time of %s: %w", p.name, err)
		}
		ticks += n
	}
	const perSecond = 100 // USER_HZ on every Linux that Go runs on
	return time.Duration(ticks) * time.Second / perSecond, nil
}

// fail is err with the end of what the program said.
func (p *process) fail(err error) error {
	text, _ := os.ReadFile(p.log)
	return fmt.Errorf("%s: %w\n%s", p.name, err, text[max(0, len(text)-2000):])
}

// kind is a column: a server, and whether filters are used on it.
type kind struct {
	name    string
	program string
	args    []string
	filters bool
}

func (o options) kinds() []kind {
	durable := []string{"--appendonly", "yes", "--appendfsync", "everysec", "--save", ""}
	all := []kind{{"redis-server", o.redis, durable, false}, {"vigil", o.vigil, nil, false}, {"vigil, with filters", o.vigil, nil, true}}
	if o.redis == "" {
		return all[1:]
	}
	return all
}

// stage is a server with the microservice on it.
type stage struct {
	server, service *process
	rdb             *redis.Client
	dir             string
}

func (o options) stage(ctx context.Context, k kind) (_ *stage, err error) {
	s := &stage{}
	if s.dir, err = os.MkdirTemp("", "vigil-session-bench"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	l.Close()
	if s.server, err = start(s.dir, k.program, append([]string{"--port", port, "--dir", s.dir}, k.args...)...); err != nil {
		return nil, err
	}
	s.rdb = redis.NewClient(&redis.Options{Addr: addr})
	if err := until(ctx, func() bool { return s.rdb.Ping(ctx).Err() == nil }); err != nil {
		return nil, s.server.fail(err)
	}
	// Activity counts from this day on. From 2018 on, each session would have
	// half a megabyte of zeros before its first bit.
	if s.service, err = start(s.dir, o.service, "-addr", addr, "-filters="+strconv.FormatBool(k.filters),
		"-epoch", time.Now().UTC().Format(time.DateOnly), "-log-level", "warn", "-config", o.serviceConfig(s.dir)); err != nil {
		return nil, err
	}
	if err := until(ctx, func() bool { n, err := s.rdb.PubSubNumPat(ctx).Result(); return err == nil && n == 5 }); err != nil {
		return nil, s.service.fail(err)
	}
	return s, nil
}

// serviceConfig writes the microservice's file and returns its path.
func (o options) serviceConfig(dir string) string {
	path := filepath.Join(dir, "session.toml")
	// A file that could not be written is told of by the microservice.
	_ = os.WriteFile(path, fmt.Appendf(nil, "[limits]\nworkers = %d\n", o.workers), 0o600)
	return path
}

func (s *stage) close() {
	if s.rdb != nil {
		s.rdb.Close()
	}
	for _, p := range []*process{s.service, s.server} {
		if p != nil {
			p.stop()
		}
	}
	os.RemoveAll(s.dir)
}

// until polls another process for half a minute.
func until(ctx context.Context, done func() bool) error {
	limit := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit:
			return errors.New("not ready within 30 s")
		case <-tick.C:
		}
	}
	return nil
}

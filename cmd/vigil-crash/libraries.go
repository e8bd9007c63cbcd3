package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// library is a program that writes through a client library, whose support for Sentinel it
// uses, or that for Redis Cluster if VIEW is "cluster" in its environment. It is given the addresses of the members, and for each of the keys counter:0 to
// counter:3 it sets 1, 2, 3 and so on, each number until that is acknowledged. Then it prints
// the key's number and that number, such as "3 17". It ends when its input does.
type library struct {
	name  string
	words []string
}

// parseLibraries reads lines such as "redis-py=python3 program.py".
func parseLibraries(text string) (all []library, err error) {
	for line := range strings.Lines(text) {
		name, command, ok := strings.Cut(strings.TrimSpace(line), "=")
		words := strings.Fields(command)
		if !ok || name == "" || len(words) == 0 {
			return nil, fmt.Errorf("%q is not of the form name=command", line)
		}
		all = append(all, library{name, words})
	}
	return all, nil
}

// settled is how long after the end of a server acknowledgements of it can come from a library,
// which has had its replies already. No other member leads that soon.
const settled = 100 * time.Millisecond

// libraryRun is a library's program at work.
type libraryRun struct {
	cmd   *exec.Cmd
	input io.Closer
	lines chan time.Time // when the last acknowledgement came
	ended chan struct{}  // closed when the program has ended
	err   error          // of the program, once it has ended

	mu    sync.Mutex
	acked [4]int // guarded by mu
}

// startLibrary starts the program of a library.
func startLibrary(l library, view string, addresses []string, log *os.File) (*libraryRun, error) {
	p := &libraryRun{cmd: exec.Command(l.words[0], append(l.words[1:], addresses...)...), ended: make(chan struct{}),
		lines: make(chan time.Time, 1)}
	p.cmd.Stderr, p.cmd.Env = log, append(os.Environ(), "VIEW="+view)
	input, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.input = input
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { // ends with the program
		err := p.read(output)
		p.err = errors.Join(err, p.cmd.Wait())
		close(p.ended)
	}()
	return p, nil
}

// read counts acknowledgements, each of which has to be of the number after the last one.
func (p *libraryRun) read(output io.Reader) error {
	for lines := bufio.NewScanner(output); lines.Scan(); {
		now := time.Now()
		var k, n int
		if _, err := fmt.Sscanf(lines.Text(), "%d %d", &k, &n); err != nil || k < 0 || k >= len(p.acked) {
			return fmt.Errorf("the program says %q", lines.Text())
		}
		p.mu.Lock()
		ok := n == p.acked[k]+1
		p.acked[k] = n
		p.mu.Unlock()
		if !ok {
			return fmt.Errorf("the program says %q out of turn", lines.Text())
		}
		select {
		case <-p.lines: // the last one counts
		default:
		}
		p.lines <- now
	}
	return nil
}

// next waits for an acknowledgement after a time.
func (p *libraryRun) next(after time.Time) (time.Time, error) {
	for late := time.After(patience); ; {
		select {
		case at := <-p.lines:
			if at.After(after) {
				return at, nil
			}
		case <-p.ended:
			return time.Time{}, errors.Join(errors.New("the program has ended"), p.err)
		case <-late:
			return time.Time{}, errors.New("the program has no write acknowledged")
		}
	}
}

// stop ends the program, and returns its error.
func (p *libraryRun) stop() error {
	p.input.Close()
	select {
	case <-p.ended:
		return p.err
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		return errors.New("the program does not end with its input")
	}
}

// runLibraries kills the leaders of a group for each policy and library.
func runLibraries(binary, view string, kills int, policies []string, libraries []library, seed uint64) error {
	fmt.Printf("seed %d\n\n", seed)
	fmt.Println("| library | appendfsync | leaders killed | acknowledged | lost | median until the next write, ms | longest |")
	fmt.Println("|---|---|--:|--:|--:|--:|--:|")
	r := rand.New(rand.NewPCG(seed, 1))
	for _, l := range libraries {
		for _, policy := range policies {
			dir, err := os.MkdirTemp("", "vigil-crash")
			if err != nil {
				return err
			}
			g := &group{binary: binary, view: view, policy: policy, dir: dir, acks: make(chan ack, 1)}
			gaps, acked, err := g.runLibrary(l, kills, r)
			if err != nil {
				return fmt.Errorf("%s: %s, %s: %w", dir, l.name, policy, err)
			}
			slices.Sort(gaps)
			fmt.Printf("| %s | %s | %d | %d | 0 | %d | %d |\n", l.name, policy, len(gaps), acked,
				gaps[len(gaps)/2].Milliseconds(), gaps[len(gaps)-1].Milliseconds())
			os.RemoveAll(dir)
		}
	}
	return nil
}

// runLibrary returns how long the library had no write acknowledged after each kill. A write
// that was lost is an error.
func (g *group) runLibrary(l library, kills int, r *rand.Rand) (gaps []time.Duration, acked int, err error) {
	if err := g.choosePorts(r); err != nil {
		return nil, 0, err
	}
	defer g.killAll()
	var addresses []string
	for i := range g.up {
		addresses = append(addresses, address(g.ports[i]))
		if err := g.start(i); err != nil {
			return nil, 0, err
		}
	}
	if _, err := g.leader(); err != nil {
		return nil, 0, err
	}
	log, err := os.Create(filepath.Join(g.dir, "library.log"))
	if err != nil {
		return nil, 0, err
	}
	defer log.Close()
	p, err := startLibrary(l, g.view, addresses, log)
	if err != nil {
		return nil, 0, err
	}
	for range kills {
		var gap time.Duration
		if gap, err = g.killUnder(p, r); err != nil {
			break
		}
		gaps = append(gaps, gap)
	}
	if err = errors.Join(err, p.stop()); err != nil {
		return nil, 0, err
	}
	for k, n := range p.acked {
		got, err := g.read("counter:" + strconv.Itoa(k))
		if err != nil {
			return nil, 0, err
		}
		if last, _ := strconv.Atoi(got); last < n || last > n+1 || n == 0 {
			return nil, 0, fmt.Errorf("counter:%d is %q: %d was acknowledged", k, got, n)
		}
		acked += n
	}
	return gaps, acked, nil
}

// killUnder kills the leader while the program writes, waits until that has followed, and
// starts the server again.
func (g *group) killUnder(p *libraryRun, r *rand.Rand) (gap time.Duration, err error) {
	if _, err := p.next(time.Now()); err != nil {
		return 0, err
	}
	time.Sleep(time.Duration(r.IntN(200)) * time.Millisecond)
	i, err := g.leader()
	if err != nil {
		return 0, err
	}
	killed := time.Now()
	g.kill(i)
	at, err := p.next(time.Now().Add(settled))
	if err != nil {
		return 0, err
	}
	if err := g.start(i); err != nil {
		return 0, err
	}
	return at.Sub(killed), g.caughtUp(i)
}

// leader returns the server that takes a write.
func (g *group) leader() (int, error) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for i := range groupSize {
			c, err := g.dial(i)
			if err != nil {
				continue
			}
			got, err := c.do("SET", "leads", "1")
			c.nc.Close()
			if err == nil && got == "OK" {
				return i, nil
			}
		}
	}
	return 0, errors.New("the group has no leader")
}

// kill ends a server at once.
func (g *group) kill(i int) {
	end(g.up[i])
	g.up[i] = nil
}

// terminate sends SIGTERM to a server. left returns when it has ended, with an error unless that is as it has to be.
func (g *group) terminate(i int) (left func() error) {
	p := g.up[i]
	g.up[i] = nil
	_ = p.Process.Signal(syscall.SIGTERM) // or it has ended, which left says
	late := time.AfterFunc(patience, func() { _ = p.Process.Kill() })
	return func() error {
		defer late.Stop()
		if err := p.Wait(); err != nil {
			return fmt.Errorf("server %d after SIGTERM: %w", i, err)
		}
		return nil
	}
}

func (g *group) killAll() {
	for i, p := range g.up {
		if p != nil {
			g.kill(i)
		}
	}
}

package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/groups"
	"github.com/vigildb/vigil/server/transport"
)

// patience is how long a reply may take before a script is stuck.
const patience = time.Minute

// target is a server that a script runs against.
type target interface {
	// dial connects a client that speaks the given protocol.
	dial(t *testing.T, proto int) *scriptClient
	// settled reports that a client's command has been looked at and waits.
	settled(c *scriptClient) bool
	advance(d time.Duration)
	restart(t *testing.T)
	// left reports that the server has noticed that all clients are gone.
	left() bool
	// runs reports whether the target makes this call, or goes past it.
	runs(s *step) bool
}

type scriptClient struct {
	nc    net.Conn
	r     *bufio.Reader
	id    uint64
	ended bool
}

// send writes a call as an array of bulk strings.
func (c *scriptClient) send(argv [][]byte) error {
	r := commands.NewReply(nil, 2)
	r.Array(len(argv))
	for _, a := range argv {
		r.Bulk(a)
	}
	_, err := c.nc.Write(r.Encoded())
	return err
}

func (c *scriptClient) receive() (*node, error) {
	c.nc.SetReadDeadline(time.Now().Add(patience))
	return readNode(c.r)
}

// callCount counts the calls of scripts.
type callCount struct{ made, differ, skipped int }

func (n *callCount) add(m callCount) {
	n.made += m.made
	n.differ += m.differ
	n.skipped += m.skipped
}

// run is one script on one target.
type run struct {
	callCount
	t       *testing.T
	name    string
	target  target
	clients map[int]*scriptClient
	proto   int
	broken  bool // a client got no reply, or an unreadable one: nothing more can be said
}

// runScript goes on behind a reply that differs.
func runScript(t *testing.T, name string, steps []step, to target) callCount {
	t.Helper()
	r := &run{t: t, name: name, target: to, clients: map[int]*scriptClient{}, proto: 2}
	defer r.hangUp()
	for i := range steps {
		s := &steps[i]
		if !to.runs(s) {
			if s.kind == stepSend {
				r.skipped++
			}
			continue
		}
		var next *step
		if i+1 < len(steps) {
			next = &steps[i+1]
		}
		r.step(s, next)
		if r.broken {
			return r.callCount
		}
	}
	r.fresh()
	return r.callCount
}

func (r *run) fatalf(s *step, format string, args ...any) {
	r.t.Helper()
	r.broken = true
	r.errorf(s, format, args...)
}

func (r *run) errorf(s *step, format string, args ...any) {
	r.t.Helper()
	r.t.Errorf("%s.txt:%d: %s: "+format, append([]any{r.name, s.line, s.text}, args...)...)
}

func (r *run) step(s, next *step) {
	switch s.kind {
	case stepSend:
		r.send(s, next)
	case stepExpect:
		r.expect(s)
	case stepAdvance:
		r.target.advance(s.wait)
	case stepRestart:
		r.fresh()
		r.target.restart(r.t)
	case stepFlush:
		r.fresh()
		c := r.client(1)
		if err := c.send([][]byte{[]byte("FLUSHALL")}); err != nil {
			r.fatalf(s, "%v", err)
			return
		}
		if got, err := c.receive(); err != nil || got.text != "OK" {
			r.fatalf(s, "got %v, %v", got, err)
		}
		r.fresh()
	case stepProto:
		r.fresh()
		r.proto = s.proto
	}
}

func (r *run) client(n int) *scriptClient {
	if r.clients[n] == nil {
		r.clients[n] = r.target.dial(r.t, r.proto)
	}
	return r.clients[n]
}

// fresh drops all clients; whoever still has a reply to read has got one that
// the script does not know.
func (r *run) fresh() {
	for n, c := range r.clients {
		if k := c.r.Buffered(); k > 0 && !c.ended {
			b, _ := c.r.Peek(k)
			r.t.Errorf("%s.txt: client %d got %q that nobody expects", r.name, n, b)
		}
	}
	r.hangUp()
}

func (r *run) hangUp() {
	for n, c := range r.clients {
		c.nc.Close()
		delete(r.clients, n)
	}
	r.await(r.target.left, "clients are still there")
}

// await lets others run until something is so.
func (r *run) await(so func() bool, or string) {
	r.t.Helper()
	for end := time.Now().Add(patience); !so(); runtime.Gosched() {
		if time.Now().After(end) {
			r.broken = true
			r.t.Errorf("%s.txt: %s", r.name, or)
			return
		}
	}
}

// send makes a call. Unless its reply is read next, it must come to rest: the
// client waits, or the reply is there.
func (r *run) send(s, next *step) {
	r.made++
	c := r.client(s.client)
	if err := c.send(s.argv); err != nil {
		r.fatalf(s, "%v", err)
		return
	}
	if next != nil && next.kind == stepExpect && next.client == s.client {
		return
	}
	r.await(func() bool { return r.target.settled(c) }, s.text+": the client neither waits nor gets a reply")
}

func (r *run) expect(s *step) {
	if s.want.kind == nodeNone {
		return
	}
	c := r.client(s.client)
	got, err := c.receive()
	if s.want.kind == nodeClosed {
		if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !isReset(err) {
			r.fatalf(s, "got %v, %v, want the end of the connection", got, err)
		}
		c.ended = true
		return
	}
	switch {
	case err != nil:
		r.fatalf(s, "%v", err)
	case !s.want.matches(got):
		r.differ++
		r.errorf(s, "got %s", got)
	}
}

func isReset(err error) bool { return err != nil && strings.Contains(err.Error(), "reset by peer") }

// ownTarget is a vigil server inside the test.
type ownTarget struct {
	opts  Options
	clock *testClock
	srv   *Server
}

func newOwnTarget(t *testing.T, durable bool) *ownTarget {
	o := &ownTarget{clock: newTestClock()}
	o.opts = Options{Config: testConfig(t), Clock: o.clock, Seed: 1, InMemory: !durable}
	if durable {
		o.opts.Dir = t.TempDir()
	}
	o.open(t)
	t.Cleanup(func() { o.srv.Close(context.Background()) })
	return o
}

func (o *ownTarget) open(t *testing.T) {
	t.Helper()
	srv, err := Open(context.Background(), o.opts)
	if err != nil {
		t.Fatal(err)
	}
	o.srv = srv
}

func (o *ownTarget) dial(t *testing.T, proto int) *scriptClient {
	t.Helper()
	nc, err := o.srv.Dial()
	if err != nil {
		t.Fatal(err)
	}
	c := &scriptClient{nc: nc, r: bufio.NewReader(nc), id: o.srv.clients.last.Load()}
	greet(t, c, proto)
	return c
}

// greet asks for protocol 3.
func greet(t *testing.T, c *scriptClient, proto int) {
	t.Helper()
	if proto != 3 {
		return
	}
	if err := c.send([][]byte{[]byte("HELLO"), []byte("3")}); err != nil {
		t.Fatal(err)
	}
	if got, err := c.receive(); err != nil || got.kind != nodeMap {
		t.Fatalf("HELLO 3: got %v, %v", got, err)
	}
}

func (o *ownTarget) settled(c *scriptClient) bool {
	if c.nc.(*transport.PipeEnd).Buffered() > 0 {
		return true
	}
	s := o.srv.clients.find(c.id)
	return s == nil || s.Has(commands.ClientBlocked) || o.srv.pause.Holds(s)
}

func (o *ownTarget) left() bool { return o.srv.clients.count() == 0 }

func (o *ownTarget) advance(d time.Duration) { o.clock.advance(d) }

func (o *ownTarget) restart(t *testing.T) {
	t.Helper()
	if err := o.srv.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	o.open(t)
}

func (o *ownTarget) runs(*step) bool { return true }

// TestConformance runs the scripts of every family of commands.
func TestConformance(t *testing.T) {
	for name, steps := range loadScripts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			durable := false
			for i := range steps {
				durable = durable || steps[i].kind == stepRestart
			}
			runScript(t, name, steps, newOwnTarget(t, durable))
		})
	}
}

// TestEveryCommandHasALineThatSucceedsAndOneThatFails keeps the scripts
// complete.
func TestEveryCommandHasALineThatSucceedsAndOneThatFails(t *testing.T) {
	table, err := commands.NewTable(groups.All())
	if err != nil {
		t.Fatal(err)
	}
	good, bad := map[string]bool{}, map[string]bool{}
	for _, steps := range loadScripts(t) {
		for i := range steps {
			if steps[i].kind != stepSend {
				continue
			}
			c, _ := table.Lookup(steps[i].argv)
			if c == nil {
				continue
			}
			if reply := replyTo(steps, i); reply != nil && failed(reply) {
				bad[c.Name] = true
			} else {
				good[c.Name] = true
			}
		}
	}
	for _, c := range table.All() {
		if !good[c.Name] && c.Run != nil && !needsAProcess(c) {
			t.Errorf("no commands/*/testdata/*.txt has a %s that succeeds", c.Name)
		}
		if !bad[c.Name] && canFail(c) {
			t.Errorf("no commands/*/testdata/*.txt has a %s that fails", c.Name)
		}
	}
}

// processOnly are commands that cannot succeed here: the server would end, has no
// configuration file, no file of users, no directory of files of others, no target of backups, no position of a stream and no replica, runs no script, no call
// takes long, or the reply is an error on purpose.
var processOnly = map[string]bool{"SHUTDOWN": true, "SYNC": true, "PSYNC": true, "LATENCY GRAPH": true, "CONFIG REWRITE": true, "ACL LOAD": true, "ACL SAVE": true, "SCRIPT KILL": true,
	"FUNCTION KILL": true, "DEBUG ERROR": true, "DEBUG CONFIG-REWRITE-FORCE-ALL": true, "FAILOVER": true, "VIGIL.CHANGES FROM": true, "VIGIL.IMPORT PATH": true, "VIGIL.IMPORT STOP": true, "VIGIL.EXPORT PATH": true, "VIGIL.EXPORT STOP": true,
	"VIGIL.BACKUP NOW": true, "VIGIL.BACKUP STATUS": true, "VIGIL.BACKUP LIST": true}

// needsAProcess reports whether a command is one of them, or needs other machines.
func needsAProcess(c *commands.Command) bool {
	return processOnly[c.Name] || c.GroupName() == "cluster" || c.GroupName() == "sentinel" || c.GroupName() == "members"
}

// replyTo finds the reply to the call of step i; nil if nobody reads it.
func replyTo(steps []step, i int) *node {
	for j := i + 1; j < len(steps); j++ {
		if steps[j].client != steps[i].client {
			continue
		}
		if steps[j].kind == stepExpect {
			return steps[j].want
		}
		return nil
	}
	return nil
}

func failed(n *node) bool { return n.kind == nodeError }

// canFail reports a command that some arguments, or their number, make fail.
// Those that take any number of any arguments cannot.
func canFail(c *commands.Command) bool {
	words := len(strings.Fields(c.Name))
	if c.Arity >= 0 || -c.Arity > words {
		return true
	}
	return len(c.Subcommands()) > 0
}

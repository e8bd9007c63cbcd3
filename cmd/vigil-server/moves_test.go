package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vigildb/vigil/structures/slots"
)

// counters are clients of a cluster that increment keys of many slots, each its own ones. An increment that was
// acknowledged shows in the next reply: one that is lost is found at once, as is a key that two groups have.
type counters struct {
	t         *testing.T
	ports     []int
	databases int // the clients are in these, one after the other
	stop      atomic.Bool
	clients   sync.WaitGroup
	errors    atomic.Int64 // replies that are neither numbers nor redirections, and connections that broke
	longest   atomic.Int64 // time from a call to its acknowledgement, in ns

	mu    sync.Mutex
	keys  map[string]*counted // guarded by mu
	acks  int                 // guarded by mu
	acked sync.Cond
}

// counted is what a client knows of its key: its database, the last reply, and how many increments were sent.
type counted struct {
	db          int
	reply, sent int64
}

const counterKeys = 40 // of each client

func count(t *testing.T, clients int, ports ...int) *counters {
	return countIn(t, 1, clients, ports...)
}

// countIn is count with clients in several databases.
func countIn(t *testing.T, databases, clients int, ports ...int) *counters {
	c := &counters{t: t, ports: ports, databases: databases, keys: map[string]*counted{}}
	c.acked.L = &c.mu
	for k := range clients {
		c.clients.Go(func() { c.run(k) })
	}
	t.Cleanup(c.end)
	return c
}

func (c *counters) end() {
	c.stop.Store(true)
	c.clients.Wait()
}

// run increments the keys of a client in turn. It knows where it was sent last for each.
func (c *counters) run(k int) {
	conns := map[int]*client{}
	defer func() {
		for _, o := range conns {
			o.nc.Close()
		}
	}()
	at := map[string]int{}
	for i := 0; !c.stop.Load(); i++ {
		key := fmt.Sprintf("counter:%d:%d", k, i%counterKeys)
		if at[key] == 0 {
			at[key] = c.ports[i%len(c.ports)]
		}
		c.mu.Lock()
		now := c.keys[key]
		if now == nil {
			now = &counted{db: k % c.databases}
			c.keys[key] = now
		}
		c.mu.Unlock()
		start := time.Now()
		for try := 0; !c.stop.Load(); try++ {
			c.mu.Lock()
			now.sent++
			c.mu.Unlock()
			got, err := c.call(conns, at[key], now.db, "INCR "+key)
			n, parsed := strconv.ParseInt(got, 10, 64)
			c.mu.Lock()
			switch {
			case err == nil && parsed == nil:
				if n <= now.reply || n > now.sent {
					c.t.Errorf("%s is %d at %d: it was %d, and %d increments were sent", key, n, at[key], now.reply, now.sent)
				}
				now.reply = n
				c.acks++
				c.acked.Broadcast()
			case err == nil:
				now.sent-- // it was not executed
			}
			c.mu.Unlock()
			if err == nil && parsed == nil {
				c.longest.Store(max(c.longest.Load(), int64(time.Since(start))))
				break
			}
			if err == nil && strings.HasPrefix(got, "MOVED ") {
				if _, port, e := net.SplitHostPort(got[strings.LastIndexByte(got, ' ')+1:]); e == nil {
					at[key], _ = strconv.Atoi(port)
					continue
				}
			}
			if err != nil || !strings.HasPrefix(got, "TRYAGAIN") {
				if c.errors.Add(1) == 1 {
					c.t.Logf("the first error, at %d, after %v: %s, %v", at[key], time.Since(start), got, err)
				}
				at[key] = c.ports[(i+try)%len(c.ports)]
			}
		}
	}
}

// call calls a server on the connection that the client has to it.
func (c *counters) call(conns map[int]*client, port, db int, line string) (string, error) {
	o := conns[port]
	if o == nil {
		var err error
		if o, err = dialIn(port, db); err != nil {
			return "CLUSTERDOWN " + err.Error(), nil // nothing was sent that counts
		}
		conns[port] = o
	}
	err := o.nc.SetDeadline(time.Now().Add(20 * time.Second))
	if err == nil {
		err = o.send(line)
	}
	got := ""
	if err == nil {
		got, err = o.reply()
	}
	if err != nil {
		o.nc.Close()
		delete(conns, port)
	}
	return got, err
}

// dialIn connects a client to a server, in a database.
func dialIn(port, db int) (*client, error) {
	nc, err := net.DialTimeout("tcp", "127.0.0.1:"+strconv.Itoa(port), 20*time.Second)
	if err != nil {
		return nil, err
	}
	o := newClient(nc)
	if db == 0 {
		return o, nil
	}
	got := ""
	if err = errors.Join(nc.SetDeadline(time.Now().Add(20*time.Second)), o.send("SELECT "+strconv.Itoa(db))); err == nil {
		got, err = o.reply()
	}
	if err == nil && got != "OK" {
		err = errors.New(got)
	}
	if err != nil {
		nc.Close()
	}
	return o, err
}

// callIn sends a call to server i in a database.
func (s *shardServers) callIn(i, db int, line string) (got string) {
	c, err := dialIn(s.base+i, db)
	if err == nil {
		defer c.nc.Close()
		if err = errors.Join(c.nc.SetDeadline(time.Now().Add(20*time.Second)), c.send(line)); err == nil {
			got, err = c.reply()
		}
	}
	if err != nil {
		return "error: " + err.Error()
	}
	return got
}

// progress waits until so many increments more are acknowledged.
func (c *counters) progress(n int) {
	c.t.Helper()
	late := time.AfterFunc(time.Minute, c.acked.Broadcast)
	defer late.Stop()
	end := time.Now().Add(time.Minute)
	c.mu.Lock()
	defer c.mu.Unlock()
	for want := c.acks + n; c.acks < want; c.acked.Wait() {
		if time.Now().After(end) {
			c.t.Fatalf("the clients do not get on: %d of %d", c.acks, want)
		}
	}
}

// check ends the clients and reads their keys by a call that follows redirections.
func (c *counters) check(s *shardServers) {
	c.t.Helper()
	c.end()
	for key, now := range c.keys {
		got := s.readIn(now.db, key)
		if n, _ := strconv.ParseInt(got, 10, 64); n < now.reply || n > now.sent {
			c.t.Errorf("%s is %s: it was %d, and %d increments were sent", key, got, now.reply, now.sent)
		}
	}
}

// read reads a key wherever it is.
func (s *shardServers) read(key string) (got string) { return s.readIn(0, key) }

// readIn reads a key of a database.
func (s *shardServers) readIn(db int, key string) (got string) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		for i := range s.up {
			if got = s.callIn(i, db, "GET "+key); got != "" && !strings.Contains(got, " ") {
				return got
			}
		}
	}
	return got
}

// owners returns which slots the masters have as server i knows them, by their addresses, and their IDs.
func (s *shardServers) owners(i int) (of map[string]*slots.Set, ids map[string]string) {
	of, ids = map[string]*slots.Set{}, map[string]string{}
	for line := range strings.Lines(s.call(i, "CLUSTER NODES")) {
		words := strings.Fields(line)
		if len(words) < 8 || !strings.Contains(words[2], "master") {
			continue
		}
		address, _, _ := strings.Cut(words[1], "@")
		set, err := slots.Parse(strings.Join(words[8:], " "))
		if err != nil {
			s.t.Fatalf("%v: %s", err, line)
		}
		of[address], ids[address] = set, words[0]
	}
	return of, ids
}

// move moves some slots of the group of some servers to the group of others. choose returns which, of those that
// it has.
func (s *shardServers) move(from []int, to []int, choose func(own *slots.Set) slots.Range) {
	s.t.Helper()
	got := map[int]string{}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		for _, i := range from {
			of, ids := s.owners(i)
			for _, k := range to {
				id, own := ids[s.address(k)], of[s.address(i)]
				if id == "" || own.Len() == 0 {
					continue
				}
				r := choose(own)
				if got[i] = s.call(i, fmt.Sprintf("CLUSTER MIGRATESLOTS SLOTSRANGE %d %d NODE %s", r.First, r.Last, id)); got[i] == "OK" {
					return
				}
			}
		}
	}
	s.t.Fatalf("no slots are moved: %v", got)
}

// these are slots to be moved.
func these(first, last int) func(*slots.Set) slots.Range {
	return func(*slots.Set) slots.Range { return slots.Range{First: first, Last: last} }
}

// agree waits until all servers know the same owners of all slots, and no key is anywhere but at its owner.
func (s *shardServers) agree(masters, keys int) {
	s.t.Helper()
	text := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		views := map[string]bool{}
		sizes := 0
		for i := range s.up {
			of, _ := s.owners(i)
			all, n := new(slots.Set), 0
			view := ""
			for k := range s.up {
				if set := of[s.address(k)]; set != nil {
					all, n = all.Union(set), n+set.Len()
					view += fmt.Sprintf("%d: %s; ", k, set)
				}
			}
			if n != all.Len() || all.Len() != slots.Count {
				view += fmt.Sprintf(" (by %d, %d of %d slots)", i, n, all.Len())
			}
			views[view] = true
			if of[s.address(i)] != nil {
				size, _ := strconv.Atoi(s.call(i, "DBSIZE"))
				sizes += size
			}
		}
		if text = fmt.Sprint(views, sizes); len(views) == 1 && !strings.Contains(text, "(by") && sizes == keys {
			return
		}
	}
	s.t.Fatalf("the servers do not agree, with %d keys: %s", keys, text)
}

// Slots go to a new group with their keys, of all types, while clients write: they see nothing but redirections, and
// nothing is lost.
func TestSlotsMoveToANewGroupUnderLoad(t *testing.T) {
	s := newShards(t)
	s.masters("0-8191", "8192-16383")
	s.run(2, "--cluster-enabled", "yes").await(t)
	s.until(2, "CLUSTER MEET 127.0.0.1 "+strconv.Itoa(s.base), "OK")
	s.ok()
	for _, line := range []string{"RPUSH {a}list 1 2 3", "HSET {a}hash f v", "HPEXPIRE {a}hash 100000 FIELDS 1 f", "ZADD {a}zset 1 x 2 y", "SADD {a}set 1 2 three",
		"XADD {a}stream 1-1 f v", "PFADD {a}hll x", "BF.ADD {a}bloom x", "SET {a}string x EX 1000", "SCHED.CREATE {a}sched POLICY index", "SCHED.ADD {a}sched n RATE 1",
		"PLACE.CREATE {a}place", "PLACE.SET {a}place u 1", fmt.Sprintf("SETRANGE {a}large %d x", 3<<20)} {
		if got := s.call(1, line); strings.Contains(got, " ") {
			t.Fatalf("%s: %s", line, got)
		}
	}
	dump := func(i int) (text string) {
		for _, line := range []string{"LRANGE {a}list 0 -1", "HGETALL {a}hash", "ZRANGE {a}zset 0 -1 WITHSCORES", "SMEMBERS {a}set", "XRANGE {a}stream - +", "PFCOUNT {a}hll",
			"BF.EXISTS {a}bloom x", "GET {a}string", "SCHED.INFO {a}sched", "PLACE.LOCATE {a}place k", "STRLEN {a}large"} {
			text += line + ": " + s.call(i, line) + "\n"
		}
		return text
	}
	before := dump(1)
	w := count(t, 4, s.base, s.base+1)
	w.progress(1000)
	for from, which := range []func(*slots.Set) slots.Range{these(0, 2730), these(13653, 16383)} {
		s.move([]int{from}, []int{2}, which)
		s.until(from, "CLUSTER GETSLOTMIGRATIONS", "success")
		w.progress(500)
	}
	if got := dump(2); got != before {
		t.Errorf("before:\n%safter:\n%s", before, got)
	}
	for line, least := range map[string]int64{"TTL {a}string": 900, "HPTTL {a}hash FIELDS 1 f": 50000} {
		if n, _ := strconv.ParseInt(strings.Trim(s.call(2, line), "[]"), 10, 64); n < least {
			t.Errorf("%s: %d", line, n)
		}
	}
	if n := w.errors.Load(); n > 0 {
		t.Errorf("%d calls failed", n)
	}
	w.check(s)
	s.agree(3, 4*counterKeys+11)
	t.Logf("longest wait for an increment: %v", time.Duration(w.longest.Load()))
}

// The group that is to get slots asks for them; both ends show the task until it is completed, by the same ID.
func TestMigrationIsAskedOfTheGroupThatGetsTheSlots(t *testing.T) {
	s := newShards(t)
	s.masters("0-8191", "8192-16383")
	s.ok()
	for line, want := range map[string]string{"CLUSTER MIGRATION IMPORT 0 9000": "ERR Slot 8192 is already one of this node", "CLUSTER MIGRATION IMPORT 3 1": "ERR start slot",
		"CLUSTER MIGRATION IMPORT 1": "ERR", "CLUSTER MIGRATION STATUS ID": "ERR syntax", "CLUSTER MIGRATION STATUS": "ERR", "CLUSTER MIGRATION CANCEL NONE": "ERR syntax",
		"CLUSTER MIGRATION IMPORT 1 1 1 2": "ERR Slot 1 specified multiple times", "CLUSTER MIGRATION STATUS ID unknown": "[]", "CLUSTER MIGRATION CANCEL ALL": "0"} {
		if got := s.call(1, line); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	w := count(t, 2, s.base, s.base+1)
	w.progress(300)
	id := s.call(1, "CLUSTER MIGRATION IMPORT 0 99 200 299")
	if len(id) != 40 {
		t.Fatalf("the ID is %q", id)
	}
	for i, operation := range []string{"migrate", "import"} {
		s.until(i, "CLUSTER MIGRATION STATUS ID "+id, "state completed")
		_, ids := s.owners(i)
		want := fmt.Sprintf("id %s slots 0-99 200-299 source %s dest %s operation %s state completed last_error  retries 0 ", id, ids[s.address(0)], ids[s.address(1)], operation)
		if got := s.call(i, "CLUSTER MIGRATION STATUS ALL"); !strings.Contains(got, want) {
			t.Errorf("server %d: %s\nwant %s", i, got, want)
		}
	}
	w.progress(300)
	w.check(s)
	s.agree(2, 2*counterKeys)
	if n := w.errors.Load(); n > 0 {
		t.Errorf("%d calls failed", n)
	}
}

// A new group gets its share by one command, and gives it back by another one, while clients write: no slot moves that
// need not.
func TestRebalanceMovesTheShareOfTheNewGroup(t *testing.T) {
	s := newShards(t)
	s.masters("0-8191", "8192-16383")
	s.run(2, "--cluster-enabled", "yes").await(t)
	s.until(2, "CLUSTER MEET 127.0.0.1 "+strconv.Itoa(s.base), "OK")
	s.ok()
	w := count(t, 4, s.base, s.base+1)
	w.progress(1000)
	before, ids := s.owners(0)
	for _, step := range []struct {
		weight string
		slots  int // that the new group has then, or one more or less: ties go by the IDs of the groups
	}{{"1", 5461}, {"0.5", 3277}, {"0", 0}} {
		from, _ := s.owners(0)
		s.until(0, "VIGIL.CLUSTER REBALANCE WEIGHT "+ids[s.address(2)]+" "+step.weight, "[")
		for end := time.Now().Add(time.Minute); ; {
			of, _ := s.owners(0)
			now := of[s.address(2)].Len()
			off := now - step.slots
			if (off == 0 || off*off == 1 && now > 1) && of[s.address(0)].Len()+of[s.address(1)].Len() == slots.Count-now {
				stayed := 0
				for address, set := range of {
					stayed += set.Both(from[address]).Len()
				}
				least := from[s.address(2)].Len() - now
				if moved := slots.Count - stayed; moved != max(least, -least) {
					t.Errorf("%d slots have moved, want %d", moved, max(least, -least))
				}
				break
			}
			if time.Now().After(end) {
				t.Fatalf("with the weight %s the groups have %v", step.weight, of)
			}
		}
		w.progress(200)
	}
	if n := w.errors.Load(); n > 0 {
		t.Errorf("%d calls failed", n)
	}
	w.check(s)
	s.agree(3, 4*counterKeys)
	after, _ := s.owners(0)
	t.Logf("before: %v, after: %v; longest wait for an increment: %v", before, after, time.Duration(w.longest.Load()))
}

// Leaders of the groups on both sides are killed amid moves, again and again: no acknowledged write is lost, and each slot
// has one owner.
func TestKilledLeadersLoseNothingThatMoves(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	s := twoGroups(t, "--appendfsync", "always") // else a member that was killed has to hear another one before it votes
	var ports []int
	for i := range 6 {
		ports = append(ports, s.base+i)
	}
	t.Cleanup(func() {
		for i := range s.up {
			if t.Failed() {
				t.Logf("server %d:\n%s\n%s", i, s.call(i, "CLUSTER NODES"), s.up[i].p.out)
			}
		}
	})
	groups := [2][]int{{0, 1, 2}, {3, 4, 5}}
	w := count(t, 4, ports...)
	w.progress(1000)
	killed := 0
	for round := range 5 {
		s.move(groups[round%2], groups[1-round%2], func(own *slots.Set) slots.Range {
			all := own.Ranges()
			some := all[r.IntN(len(all))]
			some.First += r.IntN(some.Last - some.First + 1)
			some.Last = min(some.Last, some.First+r.IntN(4000))
			return some
		})
		for range r.IntN(3) {
			w.progress(1 + r.IntN(200))
			victims := groups[r.IntN(2)]
			for _, i := range victims {
				if strings.HasPrefix(s.call(i, "ROLE"), "[master") {
					s.up[i].p.signal(t, syscall.SIGKILL)
					_ = s.up[i].p.wait()
					killed++
					w.progress(50)
					s.run(i, "--appendfsync", "always", "--cluster-view", "cluster").await(t)
					break
				}
			}
		}
		w.progress(300)
	}
	w.check(s)
	s.agree(2, 4*counterKeys)
	t.Logf("%d leaders were killed", killed)
}

package main

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// Section join: a server with an empty directory becomes a member of a group that has data, while clients write. It fails if a
// client sees an error, or if the new member lacks an acknowledged write.

const (
	joinClients = 8
	// joinKeys are those that the clients write.
	joinKeys = 100_000
	// joinMark is written last. Members apply writes in order: one that has it has all others.
	joinMark = "written-last"
	// joinPatience is how long the new member may take to have everything.
	joinPatience = 10 * time.Minute
	// markPatience is how long one more write may take.
	markPatience = time.Minute
	// joinPause is that between two looks at the members. What came of a state in the last of them is not seen.
	joinPause = 5 * time.Millisecond
)

// joined is a run of the section.
type joined struct {
	shards
	phased
	bulk bulk

	leader, member *process // the one that was there, and the new one
	peak           int64    // of the leader's memory before anything joins
	state          transfer
	// From the start of the new server until it had something of the log, until it lacked nothing, and until clients could read it.
	follows, complete, readable time.Duration
}

func joining(o *options, r *report) error {
	dir, err := os.MkdirTemp("", "vigil-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	group := *o
	group.growMembers = o.joinMembers
	j := &joined{shards: shards{o: &group, dir: dir, calls: newRouter(nil)}, bulk: bulk{keys: max(1, int(o.joinBytes/bulkBytes))}}
	defer j.stop()
	if err := j.add(1, true); err != nil {
		return err
	}
	j.leader = j.servers[0]
	if err := j.prepare(); err != nil {
		return j.leader.explained(err)
	}
	err = j.amid(j.measure)
	j.report(r)
	return j.explained(errors.Join(err, j.flawless(), j.verify()))
}

// prepare writes all data.
func (j *joined) prepare() error {
	if err := j.bulk.load(j.leader.port); err != nil {
		return err
	}
	if err := j.phased.load(joinClients, joinKeys, routeTo(j.leader.port)); err != nil {
		return err
	}
	_, err := settle(j.leader) // what loading left for later is not a cost of the join
	return err
}

// routeTo is a route to one server, which has all slots.
func routeTo(port int) *route {
	t := new(route)
	for slot := range t.at {
		t.at[slot].Store(int32(port))
	}
	return t
}

// measure lets a server join while the clients write.
func (j *joined) measure() error {
	if err := j.during(before, j.cpu, undisturbed); err != nil {
		return err
	}
	j.peak = j.leader.status("VmHWM")
	if err := j.during(meanwhile, j.cpu, j.join); err != nil {
		return err
	}
	return j.during(after, j.cpu, undisturbed)
}

// join starts a server, and returns when it has everything and can be read.
func (j *joined) join() (err error) {
	began := time.Now()
	j.member, err = j.launch("--cluster-join", fmt.Sprintf("127.0.0.1:%d", j.leader.port))
	if err != nil {
		return err
	}
	var last int64 // entry of the leader, a look ago
	for end := began.Add(joinPatience); j.complete == 0 || j.readable == 0; time.Sleep(joinPause) {
		if time.Now().After(end) {
			return fmt.Errorf("after %v the new member does not have everything, or cannot be read; of the state %.1f MB have come", joinPatience, float64(j.state.bytes())/1e6)
		}
		if j.member.rss() == 0 {
			return errors.New("the new server has ended")
		}
		v, err := j.calls.at(j.leader.port, "VIGIL.CLUSTER", "STATUS")
		if err != nil {
			return fmt.Errorf("VIGIL.CLUSTER STATUS: %w", err)
		}
		s := standingOf(v, j.member.port)
		j.look(time.Since(began))
		j.reach(s, last, began)
		last = s.last
	}
	return nil
}

// reach notes what the new member has reached for the first time; last is the entry that the leader had a look ago.
func (j *joined) reach(s standing, last int64, began time.Time) {
	if s.entry > 0 && j.follows == 0 {
		j.follows = time.Since(began)
	}
	if s.complete(last) && j.complete == 0 {
		j.complete = time.Since(began)
	}
	if j.complete > 0 && j.canRead() {
		j.readable = time.Since(began)
	}
}

// look asks the new member how much of the state has come. One that cannot reply yet has got nothing.
func (j *joined) look(at time.Duration) {
	if v, err := j.calls.at(j.member.port, "VIGIL.CLUSTER", "STATUS"); err == nil {
		n, _ := pairsOf(v)["state-bytes-received"].(int64)
		j.state.note(n, at)
	}
}

// canRead reports whether the new member lets clients read.
func (j *joined) canRead() bool {
	if _, err := j.calls.at(j.member.port, "READONLY"); err != nil {
		return false
	}
	v, err := j.calls.at(j.member.port, "GET", bulkKey(0))
	return err == nil && v != nil
}

// flawless returns an error if a client saw one.
func (j *joined) flawless() error {
	failed, first := 0, error(nil)
	for _, n := range j.clients {
		for _, m := range n.failed {
			failed += m
		}
		first = errors.Join(first, n.first)
	}
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("%d writes failed, as: %w", failed, first)
}

// verify compares what the new member has with what was written.
func (j *joined) verify() error {
	if j.readable == 0 {
		return nil // that it has not joined is an error already
	}
	if err := j.agree(); err != nil {
		return err
	}
	if err := j.awaitMark(); err != nil {
		return err
	}
	want := int64(j.bulk.keys + joinKeys + 1)
	for _, p := range j.servers {
		if n, err := j.calls.at(p.port, "DBSIZE"); err != nil || n != want {
			return errors.Join(fmt.Errorf("the server at %d has %v keys, not %d", p.port, n, want), err)
		}
	}
	if err := j.bulk.check(j.calls, j.member.port); err != nil {
		return err
	}
	at := routeTo(j.member.port)
	err := each(j.clients, func(n *keyWriter) error { return n.readFrom(j.member.port, at) })
	return errors.Join(err, j.lost())
}

// awaitMark writes the mark, and waits until the new member has it.
func (j *joined) awaitMark() error {
	if _, err := j.calls.at(j.leader.port, "SET", joinMark, "x"); err != nil {
		return err
	}
	for end := time.Now().Add(markPatience); ; time.Sleep(joinPause) {
		v, err := j.calls.at(j.member.port, "GET", joinMark)
		if v != nil || err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("the new member lacks the last write after %v", markPatience)
		}
	}
}

// readFrom reads all keys of a client at a follower, and compares them.
func (n *keyWriter) readFrom(port int, at *route) error {
	n.router.close()
	n.router = newRouter(at)
	defer n.router.close()
	if _, err := n.router.at(port, "READONLY"); err != nil {
		return err
	}
	err := n.readBack()
	if n.router.moved > 0 {
		err = errors.Join(err, errors.New("the new member sends readers to another one"))
	}
	return err
}

// explained adds the ends of the logs of both servers.
func (j *joined) explained(err error) error {
	for _, p := range j.servers {
		err = p.explained(err)
	}
	return err
}

func (j *joined) report(r *report) {
	r.section("A new member gets its state", fmt.Sprintf("%d clients write values of %d bytes to %d keys of a group of %d with `appendfsync %s`, each when the write before it was acknowledged, "+
		"while a server with an empty directory joins by `cluster-join`. The group has %.0f MB in %d keys besides, of %d bytes that cannot be compressed. "+
		"The section fails if a client sees an error, or if the new member does not have all that was acknowledged (`make bench-join JOIN_BYTES=%d JOIN_MEMBERS=%d`).",
		joinClients, writtenBytes, joinKeys, j.o.joinMembers, j.o.fsync, float64(j.bulk.keys)*bulkBytes/1e6, j.bulk.keys, bulkBytes, j.o.joinBytes, j.o.joinMembers))
	j.table(r, "while it joins")
	mb := func(bytes int64) float64 { return float64(bytes) / 1e6 }
	peak := 0.0
	if j.member != nil {
		peak = mb(j.member.status("VmHWM"))
	}
	text := fmt.Sprintf("After %.2f s the new member had everything, and after %.2f s clients could read it. %s It followed the log from %.2f s on. "+
		"The most memory (RSS) that the leader had was %.0f MB before, and %.0f MB in the end; the new member had %.0f MB at most. Loading took %.1f s.",
		j.complete.Seconds(), j.readable.Seconds(), &j.state, j.follows.Seconds(), mb(j.peak), mb(j.leader.status("VmHWM")), peak, j.bulk.took.Seconds())
	r.text(text)
	fmt.Fprintln(os.Stderr, text)
}

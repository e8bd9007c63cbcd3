package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// move is a kind of step with its share of all steps.
type move struct {
	share int
	make  func(*simulation)
}

// schedule is what can happen, in the order in which the moves are drawn.
var schedule = []move{
	{600, (*simulation).send},
	{160, func(s *simulation) { s.background("commit", false) }},
	{50, func(s *simulation) { s.background("commit", true) }},
	{40, func(s *simulation) { s.background("materialise", s.r.IntN(2) == 0) }},
	{20, func(s *simulation) { s.background("warm", false) }},
	{80, (*simulation).pass},
	{16, (*simulation).leave},
	{12, (*simulation).configure},
	{14, (*simulation).slow},
	{12, (*simulation).fail},
	{6, (*simulation).crashLater},
	{5, (*simulation).crash},
	{5, (*simulation).restart},
	{4, (*simulation).inspect},
	{6, (*simulation).snapshot},
}

// step draws and makes one move.
func (s *simulation) step() {
	sum := 0
	for _, m := range schedule {
		sum += m.share
	}
	n := s.r.IntN(sum)
	for _, m := range schedule {
		if n -= m.share; n < 0 {
			m.make(s)
			return
		}
	}
}

// maxPipeline is less than the server reads at once: it runs such a pipeline as a
// whole before it waits for the disk.
const maxPipeline = 4 << 10

// send lets a client that waits for nothing make some calls.
func (s *simulation) send() {
	var idle []*client
	for _, c := range s.clients {
		if len(c.due) == 0 && !c.stalled {
			idle = append(idle, c)
		}
	}
	if len(idle) == 0 {
		s.background("commit", s.r.IntN(2) == 0)
		return
	}
	c := idle[s.r.IntN(len(idle))]
	n := 1
	if s.r.IntN(6) == 0 {
		n += s.r.IntN(3)
	}
	var b strings.Builder
	db := c.db
	for range n {
		k := s.work.draw(len(s.model.waiters) > 0)
		if s.troubled && s.model.always && (k.atomic || b.Len() > 0) {
			break // if the client is dropped, one cannot know what was refused before
		}
		if b.Len() > 0 && k.size()+b.Len() > maxPipeline {
			break
		}
		k.client = c
		s.calls, c.due = append(s.calls, k), append(c.due, k)
		k.encode(&b)
		if k.blocks() || k.commands[0][0] == "SELECT" || k.atomic {
			break // what is behind would have to know how it ends
		}
	}
	if b.Len() == 0 {
		return
	}
	batch := append([]*call(nil), c.due...)
	for _, k := range batch {
		k.db = db
		s.note("%v", k)
		k.sent = s.event
	}
	fmt.Fprint(c.nc, b.String())
	s.settle()
	s.execute(c, batch)
	if s.r.IntN(40) == 0 {
		c.stalled = true
		s.note("client %d reads no more", c.id)
	}
	s.look()
}

// execute lets the model run calls that the server has run, unless it refused
// them, which it says at once.
func (s *simulation) execute(c *client, batch []*call) {
	for _, k := range batch {
		if s.life.disk.crashed() == nil && c.take(k) && refusal(k.got) {
			k.outcome = refused
			if !s.troubled {
				s.violate("%v was refused though the disk is well: %s", k, k.got)
			}
			continue
		}
		k.db = c.db
		s.model.call(k)
		if k.known {
			c.db = k.endDB
		}
	}
}

// background makes a step of a background task.
func (s *simulation) background(name string, periodic bool) {
	w := s.life.task(name)
	if w.busy.Load() || s.life.stuck() {
		s.note("%s is still under way", name)
		return
	}
	s.note("%s, periodic %v", name, periodic)
	w.step(periodic, len(s.model.states)-1)
	s.after()
}

// pass lets time pass.
func (s *simulation) pass() {
	d := time.Duration(1+s.r.IntN(60)) * time.Millisecond
	switch s.r.IntN(10) {
	case 0:
		d = time.Duration(1+s.r.IntN(100)) * time.Second
	case 1, 2, 3:
		d = time.Duration(1+s.r.IntN(1000)) * time.Millisecond
	}
	s.note("%v pass", d)
	s.life.clock.move(d)
	s.model.move(s.life.clock.Now().UnixMilli())
	for f := s.life.clock.due(); f != nil; f = s.life.clock.due() {
		go f() // as a clock does; it ends by itself
		s.settle()
	}
	s.after()
}

// leave lets a client go, with or without its replies.
func (s *simulation) leave() {
	i := s.r.IntN(len(s.clients))
	if stalled := slices.IndexFunc(s.clients, func(c *client) bool { return c.stalled }); stalled >= 0 {
		i = stalled
	}
	c := s.clients[i]
	if len(c.due) > 1 && s.model.waits(c) {
		return // the server notices when it has sent what comes first: nobody knows when
	}
	s.note("client %d leaves", c.id)
	c.nc.Close()
	s.forget(c)
	s.clients[i] = s.dial()
	s.after()
}

// configure changes the policy.
func (s *simulation) configure() {
	if !s.traits.mixed {
		return
	}
	policy := []string{"always", "everysec", "no"}[s.r.IntN(3)]
	s.note("CONFIG SET appendfsync %s", policy)
	if got := s.ask([]string{"CONFIG", "SET", "appendfsync", policy}); len(got) != 1 || text(got[0]) != ok {
		s.violate("CONFIG SET: got %d replies", len(got))
	}
	s.setPolicy(policy)
	s.after()
}

// slow holds up the syncs of the disk, or lets them go on.
func (s *simulation) slow() {
	if s.r.IntN(2) == 0 && s.pending == nil {
		s.note("syncs wait")
		s.life.disk.holdSyncs()
		return
	}
	s.note("syncs go on")
	s.life.disk.releaseSyncs()
	s.after()
}

// fail breaks the disk, or heals it.
func (s *simulation) fail() {
	if !s.faulty {
		return
	}
	if s.life.disk.sick() || s.r.IntN(3) == 0 {
		s.heal()
		return
	}
	f := fault(1 + s.r.IntN(len(faultNames)-1))
	s.note("%s", faultNames[f])
	s.report.Faults++
	s.troubled, s.sound = true, 0
	s.life.disk.setFault(f)
}

func (s *simulation) heal() {
	s.note("the disk works")
	s.life.disk.setFault(noFault)
	s.life.disk.releaseSyncs()
	s.after()
}

// powerFailure lets the power fail in the middle of what comes.
func (s *simulation) crashLater() {
	n := 1 + s.r.IntN(12)
	kind := []string{logFile, logFile, logFile, tableFile, otherFile}[s.r.IntN(5)]
	what := s.drawCrash()
	s.note("%s before change %d of a %s file", crashNames[what], n, kind)
	s.life.disk.crashBefore(n, kind, what)
}

// drawCrash draws how a life ends: more often by power, which loses more.
func (s *simulation) drawCrash() crashing {
	if s.r.IntN(3) == 0 {
		return death
	}
	return powerFailure
}

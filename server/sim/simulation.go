package sim

import (
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing/synctest"
	"time"

	"github.com/vigildb/vigil/persistence/disktest"
)

// Report is what became of a simulation.
type Report struct {
	Seed      uint64
	Violation string   // the promise that was broken; empty if none
	Trace     []string // what happened, in order
	Digest    uint64   // of the trace and of the disk's log: the same for the same seed
	Calls     int      // of clients
	Crashes   int
	Deaths    int // of these, of the process alone
	Faults    int // of the disk
	Snapshots int // that were made and looked at
	Histories int // judged by Porcupine
	Unjudged  int // too long for it
}

// simulation is a server, its clients, its machine and the judge of them.
type simulation struct {
	r      *rand.Rand
	traits traits
	work   workload

	life    *life
	clients []*client
	admin   *client
	ids     int
	saver   *client // asked for the snapshot that is pending

	pending   *snapshot
	snapshots []*snapshot // that are there
	calls     []*call     // of all lives, in the order of sending

	model  *model
	policy string // appendfsync now; the model's always follows it
	linear bool   // the checker of histories looks at this run
	// The disk has failed and not been well for long enough since: that calls are
	// refused, and clients dropped, is right. sound counts periodic steps.
	troubled bool
	sound    int

	event  int
	report Report
	digest hash.Hash64
	faulty bool // this run has disk faults
}

// soundSteps is after how many periodic steps on a disk that is well again the
// server must be well too.
const soundSteps = 3

// moves is how many moves a simulation makes before it is brought to an end.
const moves = 250

// Run makes the simulation of a seed. It is to be called in a bubble of
// testing/synctest.
func Run(seed uint64) Report {
	s := newSimulation(seed)
	if s.boot(disktest.New(), new(disktest.Memory)) {
		for range moves {
			s.step()
			if s.report.Violation != "" {
				break
			}
		}
		if s.report.Violation == "" {
			s.finish()
		}
	}
	s.abandon()
	if s.report.Violation == "" && s.linear {
		s.checkHistories()
	}
	return s.summary()
}

func newSimulation(seed uint64) *simulation {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	s := &simulation{r: r, digest: fnv.New64a()}
	s.report.Seed = seed
	tr := &s.traits
	tr.policy, tr.seed = []string{"always", "everysec", "no"}[r.IntN(3)], seed+1
	tr.mixed = r.IntN(4) == 0
	tr.journalBound = 16 << 10 << r.IntN(6)
	tr.batchBytes = 256 << r.IntN(10)
	tr.segmentBytes = 8 << 10 << r.IntN(4)
	tr.maxMemory = "0"
	if r.IntN(3) == 0 {
		tr.maxMemory = "1100000"
	}
	s.faulty = r.IntN(2) == 0
	s.work = workload{r: r, big: []int{0, 20, 100}[r.IntN(3)], whole: r.IntN(3) == 0}
	s.linear = tr.policy == "always" && !tr.mixed && !s.work.whole
	s.model = newModel(newState(), epoch.UnixMilli())
	s.note("seed %d: %+v, faults %v, keyspace %v", seed, *tr, s.faulty, s.work.whole)
	return s
}

// note adds a line to the trace.
func (s *simulation) note(format string, args ...any) {
	s.event++
	line := fmt.Sprintf("%4d %s", s.event, fmt.Sprintf(format, args...))
	s.report.Trace = append(s.report.Trace, line)
	fmt.Fprintln(s.digest, line)
}

// violate records that a promise was broken. Only the first is kept.
func (s *simulation) violate(format string, args ...any) {
	if s.report.Violation == "" {
		s.report.Violation = fmt.Sprintf(format, args...)
		s.note("VIOLATION: %s", s.report.Violation)
	}
}

func (s *simulation) summary() Report {
	s.report.Calls = len(s.calls)
	s.report.Digest = s.digest.Sum64()
	return s.report
}

// patience is how much of the bubble's time passes after each move. It is for
// timers that only slow something down: nothing is decided by them.
const patience = 100 * time.Millisecond

// settle lets everything run until nothing moves any more.
func (s *simulation) settle() {
	synctest.Wait()
	time.Sleep(patience)
	synctest.Wait()
}

// after is settle, and then a look at what has come of it.
func (s *simulation) after() {
	s.settle()
	s.look()
}

// look lets what the disk and the clients show take effect.
func (s *simulation) look() {
	fmt.Fprintln(s.digest, s.life.disk.digest())
	if s.life.disk.crashed() != nil {
		s.crash()
		return
	}
	s.harvest()
	s.promises()
}

// promises notes what periodic steps that have ended guarantee.
func (s *simulation) promises() {
	w := s.life.task("commit")
	if w.busy.Load() || !w.due {
		return
	}
	w.due = false
	if s.life.disk.sick() {
		return
	}
	if s.troubled {
		if s.sound++; s.sound < soundSteps {
			return
		}
		s.troubled = false
		s.note("the disk must be well")
	}
	if s.policy == "everysec" {
		s.model.promise(w.holds)
	}
}

// End is the end of the trace, for people.
func (r *Report) End(lines int) string {
	return strings.Join(r.Trace[max(0, len(r.Trace)-lines):], "\n")
}

// add sums up what happened.
func (r *Report) add(o *Report) {
	r.Calls, r.Crashes, r.Faults = r.Calls+o.Calls, r.Crashes+o.Crashes, r.Faults+o.Faults
	r.Snapshots, r.Deaths = r.Snapshots+o.Snapshots, r.Deaths+o.Deaths
	r.Histories, r.Unjudged = r.Histories+o.Histories, r.Unjudged+o.Unjudged
}

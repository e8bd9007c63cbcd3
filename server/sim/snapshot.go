package sim

import (
	"fmt"
	"path"
	"strings"

	"github.com/vigildb/vigil/persistence/disktest"
)

// snapshot is one that the server has made or is making: it must hold everything
// that was recorded before it was asked for, and nothing of what came after it
// was reported to exist. Once it was reported no crash removes it.
type snapshot struct {
	name string
	from int      // the newest state when it was asked for
	may  []*state // what it may hold, once it is there
}

// snapshot asks for one, over a connection of its own.
func (s *simulation) snapshot() {
	if s.pending != nil || s.life.disk.holding() {
		return
	}
	s.pending = &snapshot{name: fmt.Sprint("s", s.event), from: len(s.model.states) - 1}
	s.note("snapshot %s", s.pending.name)
	s.saver = s.dial()
	var b strings.Builder
	encode(&b, []string{"VIGIL.SNAPSHOT", "CREATE", s.pending.name})
	fmt.Fprint(s.saver.nc, b.String())
	s.after()
}

// saved looks whether the snapshot is there.
func (s *simulation) saved() {
	p := s.pending
	if p == nil {
		return
	}
	replies := s.saver.replies(1)
	if replies == nil && !s.saver.gone() {
		return
	}
	s.pending = nil
	s.saver.nc.Close()
	switch {
	case replies != nil && text(replies[0]) == bulk(p.name):
		s.note("snapshot %s is there", p.name)
		p.may = s.model.states[p.from:]
		s.snapshots = append(s.snapshots, p)
	case !s.troubled:
		s.violate("no snapshot %s though the disk is well", p.name)
	}
}

// dropPending gives up a snapshot that was not ready when the server ended.
func (s *simulation) dropPending() {
	if s.pending != nil {
		s.saver.nc.Close()
		s.pending = nil
	}
}

// restore starts the server on each snapshot and looks at what it holds.
func (s *simulation) restore() {
	mem := s.life.disk.mem
	for _, p := range s.snapshots {
		l, err := begin(&s.traits, mem, new(disktest.Memory), &clock{now: s.life.clock.Now()}, noFault, path.Join(home, "snapshots", p.name))
		if err != nil {
			s.violate("the server does not start on snapshot %s: %v", p.name, err)
			return
		}
		s.life, s.admin = l, nil
		s.admin = s.dial()
		found, ok := s.read()
		i := len(p.may) - 1
		for ok && i >= 0 && !p.may[i].at(s.model.now).equal(found) {
			i--
		}
		if !ok || i < 0 {
			s.violate("snapshot %s is no state of the history: %s", p.name, found.difference(p.may[0].at(s.model.now)))
		}
		s.report.Snapshots++
		s.note("snapshot %s: state %d of %d", p.name, i, len(p.may)-1)
		s.admin.nc.Close()
		s.stop()
	}
}

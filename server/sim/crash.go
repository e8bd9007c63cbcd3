package sim

import (
	"context"

	"github.com/vigildb/vigil/persistence/disktest"
)

// home is the directory of the store.
const home = "data"

// clientCount is how many connections there are.
const clientCount = 5

// boot starts the server on a disk and compares what it holds with the history.
func (s *simulation) boot(mem *disktest.Disk, memory *disktest.Memory) bool {
	c := &clock{now: epoch}
	if s.life != nil {
		c.now = s.life.clock.Now()
	}
	f := noFault
	if s.faulty && s.r.IntN(6) == 0 {
		f = fault(1 + s.r.IntN(len(faultNames)-1))
		s.report.Faults++
		s.note("start with %s", faultNames[f])
	}
	l, err := begin(&s.traits, mem, memory, c, f, home)
	s.troubled, s.sound = f != noFault, 0
	if err != nil && f != noFault {
		s.note("start failed")
		s.settle()
		l, err = begin(&s.traits, mem, memory, c, noFault, home)
		s.troubled = false
	}
	if err != nil {
		s.violate("the server does not start: %v", err)
		return false
	}
	s.life = l
	l.disk.setFault(noFault)
	s.admin = s.dial()
	s.clients = nil
	for range clientCount {
		s.clients = append(s.clients, s.dial())
	}
	s.setPolicy(s.traits.policy)
	return s.compare()
}

// compare finds the state in which the server has come back, and continues from
// it.
func (s *simulation) compare() bool {
	found, ok := s.read()
	if !ok {
		s.violate("the server does not tell what it holds")
		return false
	}
	i, n := s.model.recovered(found), len(s.model.states)-1
	if i < 0 {
		s.violate("what is there is no state of the history from %d (sure) to %d; to the last: %s; to the sure one: %s", s.model.sure, n,
			found.difference(s.model.last().at(s.model.now)), found.difference(s.model.states[s.model.sure].at(s.model.now)))
		return false
	}
	s.note("state %d of %d, %d were sure", i, n, s.model.sure)
	s.model = newModel(s.model.states[i].at(s.model.now), s.model.now)
	s.setPolicy(s.policy)
	return true
}

func (s *simulation) setPolicy(policy string) {
	s.policy, s.model.always = policy, policy == "always"
}

// crash makes a crash, if that has not happened yet, and starts the server again
// on what is there then.
func (s *simulation) crash() {
	s.report.Crashes++
	l := loss(s.r.IntN(len(lossNames)))
	image := s.life.disk.crash(s.drawCrash())
	memory, what := image.memory, death
	if memory == nil {
		memory, what = new(disktest.Memory), powerFailure
	} else {
		s.report.Deaths++
		s.model.promise(s.model.told)
	}
	s.note("%s, what was not synced is lost: %s", crashNames[what], lossNames[l])
	s.abandon()
	mem, err := image.disk(l, s.r.Uint64())
	if err != nil {
		s.violate("%v", err)
		return
	}
	s.boot(mem, memory)
}

// abandon ends a life without listening to it any more.
func (s *simulation) abandon() {
	if s.life == nil {
		return
	}
	for _, c := range append(s.clients, s.admin) {
		if c != nil {
			c.nc.Close()
			s.forget(c)
		}
	}
	s.dropPending()
	s.life.disk.setFault(noFault)
	s.stop()
}

// stop closes the server while the background work continues. It reports
// whether everything is on the disk.
func (s *simulation) stop() bool {
	l := s.life
	l.open = false
	l.disk.crashBefore(0, "", powerFailure)
	l.disk.releaseSyncs()
	closed := make(chan error, 1)
	go func() { closed <- l.srv.Close(context.Background()) }()
	for range 20 {
		s.settle()
		select {
		case err := <-closed:
			return err == nil
		default:
			l.task("commit").step(true, 0)
		}
	}
	s.violate("the server does not stop")
	return false
}

// restart stops the server in order and starts it again: everything is there.
func (s *simulation) restart() {
	s.note("stop")
	well := s.stop()
	switch {
	case well:
		s.model.promise(len(s.model.states) - 1)
	case !s.troubled:
		s.violate("Close failed on a disk that is well")
	default:
		s.model.promise(s.model.told)
	}
	for _, c := range s.clients {
		c.nc.Close()
		s.forget(c)
	}
	s.admin.nc.Close()
	s.dropPending()
	s.settle()
	s.boot(s.life.disk.mem, s.life.disk.memory)
}

package source

import "errors"

// A planned hand-over goes from a master to a replica that has all of its stream (ADR 0112). What was a stream with one name goes on with
// another one at the same offset, so that nobody has to get everything again.

// Continue begins a stream at the end of that of a master which this server has followed: replicas that have just as much of that go on
// with this one. It does nothing if replicas follow this server already. It locks all shards for a moment, and the caller holds none of them;
// nothing is written yet.
func (s *Source) Continue(id, former string, offset int64) error {
	s.mu.Lock()
	followed := false
	for r := range s.replicas {
		followed = followed || r.state >= bulk
	}
	s.mu.Unlock()
	if followed {
		return nil
	}
	s.End("this server is a master now")
	s.mu.Lock()
	s.id, s.former, s.until = id, former, offset
	s.restartLocked(offset)
	s.visitedLocked()
	s.mu.Unlock()
	return s.follow()
}

// knowsLocked reports whether a name and an offset are of this stream.
func (s *Source) knowsLocked(id string, offset int64) bool {
	return id == s.id || s.former != "" && id == s.former && offset <= s.until
}

// Errors of a replica that is to take over.
var (
	ErrNoReplica = errors.New("source: it is not a replica")
	ErrNotOnline = errors.New("source: the replica is not online")
)

// Heir is a replica that may take over, and where the stream ends.
type Heir struct {
	Host   string
	Port   int
	HasAll bool // of the stream
	Stream string
	Offset int64
	DB     int
}

// Heir chooses the replica at a host and port, or with host "" the one that has most of the stream. Its name is the one that it has said.
func (s *Source) Heir(host string, port int) (best Heir, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = ErrNoReplica
	most := int64(-1)
	for r := range s.replicas {
		o := Heir{Host: r.ip, Port: r.port, Stream: s.id, Offset: s.log.end, DB: max(s.db, 0)}
		if o.Host == "" {
			o.Host = r.addr
		}
		switch {
		case host != "" && (o.Host != host || o.Port != port), o.Port == 0:
			continue
		case r.state != online:
			if err == ErrNoReplica {
				err = ErrNotOnline
			}
			continue
		}
		o.HasAll = r.acked >= s.log.end
		if err != nil || r.acked > most {
			best, err, most = o, nil, r.acked
		}
	}
	return best, err
}

// End ends the stream, which another server goes on with, and disconnects its replicas.
func (s *Source) End(why string) {
	s.mu.Lock()
	active := s.feed != nil
	if active {
		s.endLocked(why)
	}
	s.mu.Unlock()
	if active {
		s.o.Store.StopFeed()
	}
}

package persistence

import "sync"

// reports keeps a lasting failure from filling the log.
type reports struct {
	mu    sync.Mutex
	kinds map[string]*reportKind
}

type reportKind struct {
	next  int64 // time from which it is logged again
	muted int
}

// reportPeriod is the time between log messages about a lasting failure, in
// milliseconds.
const reportPeriod = 10_000

// report logs an error, unless one of its kind was logged a short time ago.
func (l operatorLog) report(level int, kind string, err error) {
	now := l.s.opts.Now()
	r := &l.s.reports
	r.mu.Lock()
	k := r.kinds[kind]
	if k == nil {
		k = &reportKind{}
		if r.kinds == nil || len(r.kinds) > 1000 {
			r.kinds = map[string]*reportKind{}
		}
		r.kinds[kind] = k
	}
	muted := k.muted
	if now < k.next {
		k.muted++
		r.mu.Unlock()
		return
	}
	k.next, k.muted = now+reportPeriod, 0
	r.mu.Unlock()
	if muted > 0 {
		l.s.opts.Logf(level, "%v (%d more of this kind since the last)", err, muted)
		return
	}
	l.s.opts.Logf(level, "%v", err)
}

// operatorLog is the log of a store as its rooms write it.
type operatorLog struct{ s *Store }

func (l operatorLog) Debugf(format string, args ...any) { l.s.opts.Logf(LevelDebug, format, args...) }
func (l operatorLog) Errorf(format string, args ...any) { l.s.opts.Logf(LevelError, format, args...) }
func (l operatorLog) Infof(format string, args ...any)  { l.s.opts.Logf(LevelInfo, format, args...) }
func (l operatorLog) Debug(kind string, err error)      { l.report(LevelDebug, kind, err) }
func (l operatorLog) Warnf(format string, args ...any)  { l.s.opts.Logf(LevelWarn, format, args...) }
func (l operatorLog) Warn(kind string, err error)       { l.report(LevelWarn, kind, err) }
func (l operatorLog) Error(kind string, err error)      { l.report(LevelError, kind, err) }

// unreadable is told of a failure to read the disk for a command.
func (l operatorLog) unreadable(err error) { l.Errorf("read: %v", err) }

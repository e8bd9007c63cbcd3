package acl

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Context says where a call was refused.
type Context uint8

const (
	TopLevel Context = iota
	InMulti
	InScript
)

var contextWords = [...]string{"toplevel", "multi", "lua"}

const (
	mergeWithin = 60_000 // milliseconds in which refusals of the same kind are one entry
	mergeAmong  = 10     // newest entries that are looked at for one of the same kind
	maxObject   = 1024   // bytes of a name that an entry keeps
)

// Refusal is one refused call.
type Refusal struct {
	Reason  Reason
	Context Context
	Object  string // the command, key or channel; AUTH as the client wrote it
	User    string
	Client  string // as in CLIENT LIST
}

// entry is refusals of one kind.
type entry struct {
	Refusal
	id             int64
	count          int64
	created, since int64 // unix milliseconds; since is of the last refusal
}

// Log is the log of refused calls. Its methods are safe for concurrent use.
type Log struct {
	counts [len(reasonWords)]atomic.Int64 // by Reason

	mu      sync.Mutex
	entries []*entry // newest first; guarded by mu
	next    int64    // id; guarded by mu
}

// Count is the number of refusals for a reason since the start, or since Reset.
func (l *Log) Count(r Reason) int64 { return l.counts[r].Load() }

// ResetCounts sets the counters to zero.
func (l *Log) ResetCounts() {
	for i := range l.counts {
		l.counts[i].Store(0)
	}
}

// Add records a refusal at a time in unix milliseconds. The log keeps most entries.
func (l *Log) Add(r Refusal, now int64, most int) {
	l.counts[r.Reason].Add(1)
	r.Object, r.User = cut(r.Object), cut(r.User)
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.takeLocked(r, now)
	if e == nil {
		e = &entry{Refusal: r, id: l.next, created: now}
		l.next++
	}
	e.Client, e.since = r.Client, now
	e.count++
	l.entries = slices.Insert(l.entries, 0, e)
	l.entries = slices.Delete(l.entries, min(most, len(l.entries)), len(l.entries))
}

// takeLocked takes an entry of the same kind out of the list, nil if there is none.
func (l *Log) takeLocked(r Refusal, now int64) *entry {
	for i, e := range l.entries[:min(mergeAmong, len(l.entries))] {
		if age := now - e.since; age < -mergeWithin || age > mergeWithin {
			continue
		}
		if e.Reason == r.Reason && e.Context == r.Context && e.Object == r.Object && e.User == r.User {
			l.entries = slices.Delete(l.entries, i, i+1)
			return e
		}
	}
	return nil
}

// newest copies up to n entries, the newest first.
func (l *Log) newest(n int64) []entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []entry
	for _, e := range l.entries[:min(n, int64(len(l.entries)))] {
		list = append(list, *e)
	}
	return list
}

func (l *Log) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

func cut(s string) string { return s[:min(len(s), maxObject)] }

package grouplog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/structures/testscale"
)

// modelLog is what a log should be.
type modelLog struct {
	cut     uint64
	begin   place
	entries []Entry
	lasts   []uint64 // the last record of each entry
	state   HardState
	members string
	boot    Boot
	self    string
}

func (m *modelLog) last() uint64 { return m.cut + uint64(len(m.entries)) }

func (m *modelLog) end() place {
	if n := len(m.entries); n > 0 {
		return place{term: m.entries[n-1].Term, last: m.lasts[n-1]}
	}
	return m.begin
}

func (m *modelLog) truncate(at uint64) {
	m.entries, m.lasts = m.entries[:at-m.cut-1], m.lasts[:at-m.cut-1]
}

func (m *modelLog) clone() *modelLog {
	c := *m
	c.entries, c.lasts = slices.Clone(m.entries), slices.Clone(m.lasts)
	return &c
}

func (m *modelLog) String() string {
	s := fmt.Sprintf("cut %d %d %d, state %v, members %q, boot %v, identity %q", m.cut, m.begin.term, m.begin.last, m.state, m.members, m.boot, m.self)
	for i, e := range m.entries {
		s += fmt.Sprintf("\n%d: term %d, type %d, record %d, %x", e.Index, e.Term, e.Type, m.lasts[i], e.Data)
	}
	return s
}

// describe is what a log is, as modelLog.String shows it.
func describe(t testing.TB, l *Log) string {
	t.Helper()
	first, last := l.Bounds()
	m := modelLog{cut: first - 1, state: l.State(), members: string(l.Membership().Members), boot: l.Boot(), self: string(l.Identity())}
	term, err := l.Term(first - 1)
	record, err2 := l.LastRecord(first - 1)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	m.begin = place{term: term, last: record}
	if m.entries, err = l.Entries(first, last+1, 1<<30); err != nil {
		t.Fatal(err)
	}
	for _, e := range m.entries {
		record, err := l.LastRecord(e.Index)
		if term, err2 := l.Term(e.Index); err != nil || err2 != nil || term != e.Term {
			t.Fatalf("entry %d: term %d and %d, %v, %v", e.Index, term, e.Term, err, err2)
		}
		m.lasts = append(m.lasts, record)
	}
	return m.String()
}

// history is what a log was since the device had all of it.
type history struct {
	*modelLog
	r       *rand.Rand
	states  []*modelLog
	written int             // from which of states on they count once the process has died
	length  int             // of records in bytes, at most
	seen    map[string]bool // all states; nil: they are not kept
}

func newHistory(r *rand.Rand) *history {
	return &history{modelLog: &modelLog{}, r: r, states: []*modelLog{{}}, length: 200}
}

// pass notes that the log is as the model for a moment, or longer.
func (h *history) pass() {
	h.states = append(h.states, h.clone())
	h.see()
}

func (h *history) see() {
	if h.seen != nil {
		h.seen[h.String()] = true
	}
}

// onDevice notes that a crash leaves what there is now.
func (h *history) onDevice() {
	h.states, h.written = []*modelLog{h.clone()}, 0
	h.see()
}

// one reports whether a log is one of those that may be left.
func (h *history) one(got string, from int) bool {
	return slices.ContainsFunc(h.states[from:], func(m *modelLog) bool { return m.String() == got })
}

// step does something to both at random.
func (h *history) step(t testing.TB, d *memory, l *Log) {
	t.Helper()
	m, r := h.modelLog, h.r
	switch n := r.IntN(43); {
	case n < 2:
		m.self = fmt.Sprint(r.Uint64())
		if err := l.SetIdentity([]byte(m.self)); err != nil {
			t.Fatal(err)
		}
		for _, s := range h.states {
			s.self = m.self // it does not wait for the log
		}
	case n < 4:
		m.members = fmt.Sprint(r.Uint64())
		if err := l.SetMembership(Membership{Index: m.last(), Members: []byte(m.members)}); err != nil {
			t.Fatal(err)
		}
		h.onDevice()
	case n < 6:
		m.boot = Boot{ID: [16]byte{byte(r.Uint32())}, Closed: r.IntN(2) == 0}
		if err := l.SetBoot(m.boot); err != nil {
			t.Fatal(err)
		}
		h.onDevice()
	case n < 10 && m.state.Commit > m.cut:
		index := m.cut + 1 + r.Uint64N(m.state.Commit-m.cut)
		if err := l.Cut(index); err != nil {
			t.Fatal(err)
		}
		k := index - m.cut
		m.begin = place{term: m.entries[k-1].Term, last: m.lasts[k-1]}
		m.cut, m.entries, m.lasts = index, m.entries[k:], m.lasts[k:]
		h.onDevice()
	case n == 10:
		h.takeover(t, d, l)
	case n < 13:
		if err := l.Sync(); err != nil {
			t.Fatal(err)
		}
		h.states, h.written = h.states[h.written:], 0 // a commit that moved by itself was not written
	default:
		h.append(t, l)
	}
}

// append appends entries or a state.
func (h *history) append(t testing.TB, l *Log) {
	t.Helper()
	if err := h.tryAppend(l); err != nil {
		t.Fatal(err)
	}
}

// tryAppend is append, but for an error. The model has everything then.
func (h *history) tryAppend(l *Log) error {
	m, r := h.modelLog, h.r
	if low := max(m.cut, m.state.Commit) + 1; r.IntN(4) == 0 && low <= m.last() {
		m.truncate(low + r.Uint64N(m.last()+1-low))
	}
	at := m.last() + 1
	if l.lastLocked()+1 == at && r.IntN(3) == 0 {
		at++ // the state alone
	}
	var entries []Entry
	term := max(m.state.Term, m.end().term, 1)
	if r.IntN(4) == 0 {
		term++
	}
	for i := uint64(0); at == m.last()+1 && i <= r.Uint64N(4); i++ {
		e := m.entry(r, term, h.length)
		entries = append(entries, e)
		h.pass()
		at++
	}
	state := m.state
	if r.IntN(2) == 0 || len(entries) == 0 {
		if term > state.Term {
			state = HardState{Term: term, Vote: r.Uint64N(3), Commit: state.Commit}
		}
		state.Commit += r.Uint64N(m.last() + 1 - state.Commit)
	}
	force := r.IntN(4) == 0
	synced := force || state.Term != m.state.Term || state.Vote != m.state.Vote
	m.state = state
	h.pass()
	if err := l.Append(entries, &state, force); err != nil {
		return err
	}
	if len(entries) > 0 {
		h.written = len(h.states) - 1
	}
	if synced {
		h.onDevice()
	}
	return nil
}

// entry adds an entry to the model at random.
func (m *modelLog) entry(r *rand.Rand, term uint64, length int) Entry {
	e, last := Entry{Index: m.last() + 1, Term: term, Type: Records}, m.end().last
	if r.IntN(5) == 0 {
		e.Type, e.Data = byte(2+r.IntN(3)), bytes.Repeat([]byte{7}, r.IntN(30))
	} else {
		k := 1 + r.IntN(3)
		e.Data = chunk(last, k, r.IntN(length))
		last += uint64(k)
	}
	m.entries, m.lasts = append(m.entries, e), append(m.lasts, last)
	return e
}

// takeover puts another log in the place of both, as one step that is on the device.
func (h *history) takeover(t testing.TB, d *memory, l *Log) {
	t.Helper()
	m, r := h.modelLog, h.r
	if h.r.IntN(4) == 0 {
		*m = modelLog{boot: m.boot, self: m.self}
	} else {
		cut := m.last() + 1 + r.Uint64N(10)
		m.state.Term += r.Uint64N(3) + 1
		*m = modelLog{cut: cut, begin: place{term: m.state.Term, last: 3 * cut}, state: m.state, members: "taken over", boot: m.boot, self: m.self}
		for range r.IntN(5) {
			m.entry(r, m.state.Term, h.length)
		}
		m.state.Commit, m.state.Vote = m.last(), 0
	}
	b := takeoverBatch(t, d, l, m)
	if err := errors.Join(d.Apply(b), l.Reload()); err != nil {
		t.Fatal(err)
	}
	h.onDevice()
}

// takeoverBatch has all that makes another log of one.
func takeoverBatch(t testing.TB, d *memory, l *Log, m *modelLog) *pebble.Batch {
	t.Helper()
	b := d.db.NewBatch()
	err := errors.Join(b.DeleteRange([]byte{prefixEntry}, []byte{prefixRecord + 1}, nil),
		l.Records(&Takeover{Cut: m.cut, CutTerm: m.begin.term, CutRecord: m.begin.last, State: m.state, Rests: m.end().last,
			Membership: Membership{Index: m.cut, Members: []byte(m.members)}}, func(k, v []byte) error { return b.Set(k, v, nil) }))
	for i := range m.entries {
		err = errors.Join(err, b.Set(l.entryKey(m.entries[i].Index), valueOf(t, m, i), nil))
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// valueOf is the value of an entry of the model.
func valueOf(t testing.TB, m *modelLog, i int) []byte {
	last := m.begin.last
	if i > 0 {
		last = m.lasts[i-1]
	}
	head, data, end, err := encode(&m.entries[i], last)
	if err != nil || end != m.lasts[i] || binary.LittleEndian.Uint64(head) != m.entries[i].Index {
		t.Fatalf("%v, %d", err, end)
	}
	return slices.Concat(head[indexBytes:], data)
}

// A log is its model whatever is done to it, be the entries in segments or in Pebble; whenever the power fails, a restart
// finds the log as it was after one of the calls, or amid the entries of one, none older than the last that was
// synced; and when the process dies, as it was after the last one that has written entries, or later.
func TestLogIsTheModelAndSurvivesPowerLoss(t *testing.T) {
	takeovers, trimmed := 0, 0
	for seed := range max(4, testscale.Rounds(uint64(12))) {
		r := rand.New(rand.NewPCG(seed, 1))
		d := openMemory(t, disktest.New())
		l, h := mustOpen(t, d), newHistory(r)
		h.length = []int{200, 2000, 8000}[seed%3]
		bound := r.Int64N(2000)
		l.recent.bound = bound // some entries are read from the disk
		for step := range 200 {
			h.step(t, d, l)
			if l.recent.bound = bound; l.first.number > 0 && !l.first.made {
				takeovers++
			} else if l.first.number > 1 {
				trimmed++
			}
			if got := describe(t, l); got != h.String() {
				t.Fatalf("seed %d, step %d: got\n%s\nwant\n%s", seed, step, got, h)
			}
			if r.IntN(5) > 0 {
				continue
			}
			if r.IntN(3) == 0 {
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				d.close()
				noted := d.noted
				d = openMemory(t, d.fs)
				d.noted = noted
				l = mustOpen(t, d)
				h.onDevice()
				continue
			}
			percent := r.IntN(5) * 25
			crashed := d.crashed(t, percent, r)
			again := mustOpen(t, crashed)
			got, from := describe(t, again), 0
			if percent == 100 {
				from = h.written
			}
			if !h.one(got, from) {
				t.Fatalf("seed %d, step %d: after a crash that keeps %d %%\n%s\nbut the last that was synced is\n%s\nand the newest\n%s",
					seed, step, percent, got, h.states[from], h)
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
			crashed.close()
		}
		d.close()
	}
	if takeovers == 0 || trimmed == 0 {
		t.Errorf("%d steps were done behind a takeover, and %d without the first segment", takeovers, trimmed)
	}
}

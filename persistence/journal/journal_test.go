package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
	"github.com/vigildb/vigil/structures/text"
)

func newJournal() *Journal {
	j := new(Journal)
	j.Init()
	return j
}

// records splits the records of a chunk.
func records(t *testing.T, c *Chunk) (all [][]byte) {
	t.Helper()
	for b := c.Records(); len(b) > 0; {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			t.Fatalf("chunk %d: length of record %d", c.Index, len(all))
		}
		all = append(all, b[n:n+int(size)])
		b = b[n+int(size):]
	}
	return all
}

// Whatever is appended, taken, cut and recycled in between, chunks and records come
// out in the order of their numbers, without gaps, each record as it went in.
func TestRecordsAndChunksComeOutInOrder(t *testing.T) {
	const seed = 3
	r := rand.New(rand.NewPCG(seed, 0))
	j := newJournal()
	var want [][]byte
	var out []Chunk
	lent, ended := 0, 0
	for step := range 5000 {
		rec := bytes.Repeat([]byte{byte(step)}, 1+r.IntN(3000))
		switch n := r.IntN(20); {
		case n == 0:
			refs := []Reference{{At: 0, Bytes: []byte("in front ")}, {At: len(rec) / 2, Bytes: []byte(" within ")}}
			loan := new(text.Loan)
			lent++
			half := len(rec) / 2
			want = append(want, []byte("in front "+string(rec[:half])+" within "+string(rec[half:])))
			if lsn := j.AppendBig(rec, refs, loan, 0); lsn != uint64(len(want)) {
				t.Fatalf("seed %d, step %d: number %d, want %d", seed, step, lsn, len(want))
			}
		case n == 1:
			if at := j.Cut(); at.LSN != uint64(len(want)) {
				t.Fatalf("seed %d, step %d: cut at %d, want %d", seed, step, at.LSN, len(want))
			}
		case n == 2:
			out = checkTaken(t, j, out, r.IntN(2) == 0)
		default:
			want = append(want, rec)
			if lsn := j.Append(rec, 1); lsn != uint64(len(want)) || j.Newest() != lsn {
				t.Fatalf("seed %d, step %d: number %d, want %d", seed, step, lsn, len(want))
			}
		}
	}
	out = checkTaken(t, j, out, true)
	next, index := uint64(1), uint64(1)
	for i := range out {
		c := &out[i]
		if c.First != next || c.Index != index {
			t.Fatalf("seed %d: chunk %d with record %d, want %d with %d", seed, c.Index, c.First, index, next)
		}
		for _, got := range records(t, c) {
			if !bytes.Equal(got, want[next-1]) {
				t.Fatalf("seed %d: record %d is not what went in", seed, next)
			}
			next++
		}
		if c.Last != next-1 {
			t.Fatalf("seed %d: chunk %d ends with record %d, want %d", seed, c.Index, c.Last, next-1)
		}
		if c.Big() {
			ended++
		}
		index++
	}
	if int(next) != len(want)+1 || ended != lent || lent < 100 {
		t.Errorf("seed %d: %d of %d records came out, %d of %d big", seed, next-1, len(want), ended, lent)
	}
	if j.Pending() != 0 || j.PendingBig() != 0 || j.Backlog() != 0 {
		t.Errorf("seed %d: %d, %d and %d bytes are pending", seed, j.Pending(), j.PendingBig(), j.Backlog())
	}
}

// checkTaken takes chunks, counts them as written, and appends copies that keep
// their content, as the buffers go back.
func checkTaken(t *testing.T, j *Journal, out []Chunk, partial bool) []Chunk {
	t.Helper()
	taken := j.Take(nil, partial)
	for i := range taken {
		c := taken[i]
		j.Written(&c, c.Size())
		c.buf = bytes.Clone(c.buf)
		out = append(out, c)
	}
	for i := range taken {
		if !taken[i].Big() {
			clear(taken[i].buf[HeaderBytes:cap(taken[i].buf)])
		}
	}
	j.Recycle(taken)
	return out
}

// woken takes a token.
func woken(j *Journal) bool {
	select {
	case <-j.Wake():
		return true
	default:
		return false
	}
}

func TestFullChunksAndEagerRecordsWake(t *testing.T) {
	j := newJournal()
	woken := func() bool { return woken(j) }
	rec := make([]byte, 1000)
	for j.Append(rec, 0); !woken(); j.Append(rec, 0) {
		if j.Newest() > 100 {
			t.Fatal("100 records of 1000 bytes do not wake")
		}
	}
	if full := j.Take(nil, false); len(full) != 1 || full[0].Size() < chunkBytes-2*len(rec) || full[0].Size() > chunkBytes {
		t.Errorf("%d full chunks", len(full))
	}
	j.SetEager(true)
	woken()
	j.Append(rec, 0)
	if !woken() {
		t.Error("an eager record does not wake")
	}
	j.SetEager(false)
	woken()
	j.Append(rec, 0)
	if woken() {
		t.Error("a record of a chunk that is not full wakes")
	}
}

// A burst needs many buffers, and what follows a few: the others are freed, be they used in turns.
func TestBuffersThatNobodyWantsAreFreed(t *testing.T) {
	j := newJournal()
	rec := make([]byte, 1000)
	fill := func(chunks int) {
		for n := 0; n < chunks; n = len(j.mu.sealed) {
			j.Append(rec, 0)
		}
		j.Recycle(j.Take(nil, true))
	}
	spare := func() int { return len(j.mu.spare) }
	fill(40)
	if j.Trim(); spare() != 41 {
		t.Errorf("%d buffers are left right after a burst, want 41", spare())
	}
	for range 3 { // each of them at the same time uses as many
		fill(4)
		fill(1)
		if j.Trim(); spare() != 5 {
			t.Errorf("%d buffers are left where 5 are used, want 5", spare())
		}
	}
	if j.Trim(); spare() != 0 {
		t.Errorf("%d buffers are left of a journal at rest", spare())
	}
	fill(2)
	if spare() != 3 {
		t.Errorf("%d buffers come back after a rest, want 3", spare())
	}
}

func TestTokensOfARoundAreLeftToItsEnd(t *testing.T) {
	j := newJournal()
	j.SetEager(true)
	woken(j)
	j.BeginRound()
	if j.EndRound() {
		t.Error("a round without records has something due")
	}
	j.BeginRound()
	j.BeginRound() // of another loop
	j.Append([]byte("a"), 0)
	if woken(j) {
		t.Error("a record of a round wakes")
	}
	if !j.EndRound() {
		t.Error("the end of a round does not say that something is due")
	}
	if j.EndRound() {
		t.Error("the same was due twice")
	}
	j.Append([]byte("b"), 0)
	if !woken(j) {
		t.Error("a record behind the rounds does not wake")
	}
	j.BeginRound()
	if j.SignalNow(); !woken(j) {
		t.Error("who waits does not wake")
	}
	j.EndRound()
}

// A token is not lost between a record and the end of a round, whichever is first.
func TestNoTokenIsLostAtTheEndOfARound(t *testing.T) {
	j := newJournal()
	j.SetEager(true)
	rounds := testscale.Rounds(int64(5_000))
	var begun, added atomic.Int64
	go func() {
		for i := int64(1); i <= rounds; i++ {
			for begun.Load() < i {
				runtime.Gosched()
			}
			j.Append([]byte("a"), 0)
			added.Store(i)
		}
	}()
	r := rand.New(rand.NewPCG(1, 1))
	for i := int64(1); i <= rounds; i++ {
		for woken(j) {
		}
		j.BeginRound()
		begun.Store(i)
		for range r.IntN(300) { // so that the two meet
			begun.Load()
		}
		due := j.EndRound()
		for added.Load() < i {
			runtime.Gosched()
		}
		if !due && !woken(j) {
			t.Fatalf("round %d: a record without a token", i)
		}
		j.Take(nil, true)
	}
}

func TestResumedJournalGoesOnBehindThePosition(t *testing.T) {
	j := newJournal()
	j.Resume(Position{LSN: 41, Index: 6})
	if lsn := j.Append([]byte("x"), 4); lsn != 42 {
		t.Errorf("record %d, want 42", lsn)
	}
	j.Append([]byte("y"), 2)
	if c := j.Take(nil, true); len(c) != 1 || c[0].Index != 7 || c[0].First != 42 || c[0].Last != 43 || c[0].Flags != 6 {
		t.Errorf("got %s", fmt.Sprint(c))
	}
}

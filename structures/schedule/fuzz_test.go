package schedule

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/structures"
)

// sample is a schedule with nodes, leases and a history.
func sample(t testing.TB, c Config) (*Schedule, *structures.Change) {
	t.Helper()
	s, ch := New(testKey), new(structures.Change)
	if err := s.Create(ch, c, 900); err != nil {
		t.Fatal(err)
	}
	play(t, s, ch, rand.New(rand.NewPCG(1, 1)), 60, func() {})
	return s, ch
}

// FuzzDecodeSchedule: bytes that decode must encode to something that decodes
// to the same, and every method must work on the result.
func FuzzDecodeSchedule(f *testing.F) {
	f.Add([]byte{version, 0}, []byte{}, uint16(0))
	for _, c := range configs() {
		s, _ := sample(f, c)
		head := s.AppendHead(nil)
		s.Pages(true, func(id uint64, page []byte) { f.Add(head, bytes.Clone(page), uint16(id)) })
	}
	f.Fuzz(func(t *testing.T, head, page []byte, id uint16) {
		s, err := Decode(head, testKey)
		if err != nil || s.SetPage(uint64(id), page) != nil {
			return
		}
		again, err := Decode(s.AppendHead(nil), testKey)
		if err != nil {
			t.Fatalf("own head: %v", err)
		}
		s.Pages(true, func(id uint64, page []byte) {
			if err := again.SetPage(id, page); err != nil {
				t.Fatalf("own page: %v", err)
			}
		})
		if !bytes.Equal(encoding(s), encoding(again)) {
			t.Fatal("encoding is not stable")
		}
		use(t, s)
	})
}

// FuzzApplySchedule: any sequence of operations is applied or refused, and what
// comes out is a schedule that can be stored, loaded and used.
func FuzzApplySchedule(f *testing.F) {
	for _, c := range configs() {
		_, ch := sample(f, c)
		f.Add(bytes.Clone(ch.Encoded()))
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		s := New(testKey)
		for len(record) > 0 {
			op, args, rest, err := structures.NextOp(record)
			if err != nil {
				break
			}
			_ = s.Apply(op, &args)
			record = rest
		}
		disk := store{pages: map[uint64][]byte{}}
		disk.save(s)
		if !bytes.Equal(encoding(s), encoding(disk.load(t))) {
			t.Fatal("the loaded value differs")
		}
		use(t, s)
	})
}

func use(t *testing.T, s *Schedule) {
	t.Helper()
	before := encoding(s)
	if _, err := s.Peek(3, 5000, NamesOnly); err == nil && !bytes.Equal(before, encoding(s)) {
		t.Fatal("PEEK changed the schedule")
	}
	picks, _ := s.Next(nil, 3, 5000, 50, NamesOnly)
	for _, name := range namesOf(picks) {
		if err := s.Observe(nil, []byte(name), 2, 5000); err != nil && s.clock.now <= 5000 {
			t.Fatalf("OBSERVE %q: %v", name, err)
		}
		_, _ = s.Node([]byte(name), 5000)
		s.Remove(nil, []byte(name))
	}
	s.Info(5000)
	s.Scan(0, 5, func(string) {})
}

func TestTruncatedEncodingsAreRefused(t *testing.T) {
	s, _ := sample(t, DefaultConfig())
	head := s.AppendHead(nil)
	for n := range head {
		if _, err := Decode(head[:n], testKey); err == nil {
			t.Errorf("%d bytes of the head decode", n)
		}
	}
	if _, err := Decode(append(bytes.Clone(head), 0), testKey); err == nil {
		t.Error("a head with a byte more decodes")
	}
	s.Pages(true, func(id uint64, page []byte) {
		for n := range page {
			d, err := Decode(head, testKey)
			if err != nil {
				t.Fatal(err)
			}
			if d.SetPage(id, page[:n]) == nil {
				t.Errorf("%d bytes of page %d decode", n, id)
			}
		}
	})
	d, _ := Decode(head, testKey)
	if d.SetPage(1<<40, binary.LittleEndian.AppendUint64(nil, 0)) == nil {
		t.Error("page 2^40 is taken")
	}
}

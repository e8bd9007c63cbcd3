package schedule

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

// terms is a schedule that has all that groups, deadlines and budgets store.
func terms(t testing.TB, ch *structures.Change) *Schedule {
	t.Helper()
	c := DefaultConfig()
	c.Policy, c.Seed, c.ByHost, c.Budget = "index", 7, true, 2.5
	s := New(testKey)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.Create(ch, c, 1_700_000_000_000))
	now, gap, rest, steps, leases := int64(1_700_000_000_100), int64(250), int64(500), int64(3), int64(2)
	must(s.Limit(ch, []byte("host"), &gap, &rest, &steps, &leases, now))
	for i, name := range []string{"a", "b", "c"} {
		p := scheduler.DefaultParams()
		p.Rate, p.Deadline = float64(i+1)/4, int64(9*i)
		if i == 1 {
			p.Priced = 1
		}
		_, err := s.Add(ch, []byte(name), p, now)
		must(err)
		if i < 2 {
			must(s.SetGroup(ch, []byte(name), []byte("host"), now))
		}
	}
	must(s.SetPast(ch, []byte("a"), Past{Age: 40, Probes: 7, Items: 3}, now))
	must(s.Hold(ch, []byte("other"), 60_000, now))
	for range 3 {
		now += 1000
		picks, err := s.Next(ch, 0, now, 5000, NamesOnly)
		must(err)
		for _, name := range namesOf(picks) {
			must(s.Pay(ch, []byte(name), 1.5, now))
			must(s.Observe(ch, []byte(name), 1, now))
		}
	}
	must(s.AlterPolicy(ch, "sqrtage"))
	return s
}

func TestEncodingOfGroupsIsTheOneOnDisk(t *testing.T) {
	ch := new(structures.Change)
	s := terms(t, ch)
	lines := []string{"head " + hex.EncodeToString(s.AppendHead(nil))}
	s.Pages(true, func(_ uint64, page []byte) { lines = append(lines, "page "+hex.EncodeToString(page)) })
	lines = append(lines, "record "+hex.EncodeToString(ch.Encoded()))
	want, err := os.ReadFile("testdata/golden-groups.txt")
	if got := strings.Join(lines, "\n") + "\n"; err != nil || got != string(want) {
		t.Errorf("%v: got\n%swant\n%s", err, got, want)
	}
	copied := New(testKey)
	replay(t, copied, ch.Encoded())
	if !bytes.Equal(encoding(s), encoding(copied)) {
		t.Error("replay differs")
	}
}

// What is stored of groups is loaded: the same nodes are handed out afterwards.
func TestGroupsSurviveARestart(t *testing.T) {
	s, disk := terms(t, nil), store{pages: map[uint64][]byte{}}
	disk.save(s)
	loaded := disk.load(t)
	if err := loaded.Complete(); err != nil {
		t.Fatal(err)
	}
	for now := int64(1_700_000_004_000); now < 1_700_000_030_000; now += 400 {
		a, err := s.Next(nil, 0, now, 700, NamesOnly)
		if err != nil {
			t.Fatal(err)
		}
		b, err := loaded.Next(nil, 0, now, 700, NamesOnly)
		if err != nil || strings.Join(namesOf(a), " ") != strings.Join(namesOf(b), " ") {
			t.Fatalf("at %d: %v, and after loading %v, %v", now, namesOf(a), namesOf(b), err)
		}
	}
}

// A page of a node whose group is nowhere is damaged.
func TestANodeOfNoGroupIsRefused(t *testing.T) {
	s := terms(t, nil)
	d, err := Decode(s.AppendHead(nil), testKey)
	if err != nil {
		t.Fatal(err)
	}
	s.groups.drop(1)
	s.Pages(true, func(id uint64, page []byte) {
		if err := d.SetPage(id, page); err != nil {
			t.Fatal(err)
		}
	})
	if err := d.Complete(); !errors.Is(err, structures.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

// A group goes with its last node, unless it has limits.
func TestGroupsGoWithTheirLastNode(t *testing.T) {
	s := pages(t, DefaultConfig(), "a", "b")
	for _, x := range [][2]string{{"a", "one"}, {"b", "two"}, {"b", "three"}, {"b", ""}} {
		if err := s.SetGroup(nil, []byte(x[0]), []byte(x[1]), 1); err != nil {
			t.Fatal(err)
		}
	}
	if s.Groups() != 1 {
		t.Errorf("%d groups, want that of a", s.Groups())
	}
	one := int64(1)
	if err := s.Limit(nil, []byte("one"), &one, nil, nil, nil, 1); err != nil {
		t.Fatal(err)
	}
	s.Remove(nil, []byte("a"))
	if s.Groups() != 1 {
		t.Error("limits went with the last node")
	}
}

// PEEK may notice earlier than the record that a lease has ended: what is stored stays.
func TestAPeekDoesNotRecordTheEndOfALease(t *testing.T) {
	s := pages(t, DefaultConfig(), "a", "b")
	rest := int64(1000)
	for _, node := range []string{"a", "b"} {
		if err := s.SetGroup(nil, []byte(node), []byte("h"), 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Limit(nil, []byte("h"), nil, &rest, nil, nil, 1); err != nil {
		t.Fatal(err)
	}
	if picks, err := s.Next(nil, 2, 1010, 100, NamesOnly); err != nil || len(picks) != 1 {
		t.Fatal(picks, err)
	}
	before := encoding(s)
	if picks, err := s.Peek(2, 1500, NamesOnly); err != nil || len(picks) != 0 || !bytes.Equal(before, encoding(s)) {
		t.Fatalf("%v %v, and the same bytes: %v", picks, err, bytes.Equal(before, encoding(s)))
	}
	if picks, err := s.Next(nil, 2, 2109, 100, NamesOnly); err != nil || len(picks) != 0 {
		t.Fatalf("before the rest after the end of the lease was over: %v %v", picks, err)
	}
	if picks, err := s.Next(nil, 2, 2110, 100, NamesOnly); err != nil || len(picks) != 1 {
		t.Fatalf("after it: %v %v", picks, err)
	}
}

// A preview says what the next calls hand out, and changes nothing.
func TestDueIsWhatTheNextCallsHandOut(t *testing.T) {
	for _, policy := range []string{"index", "freshness", "stride", "memoryless"} {
		s := busy(t, policy, 200)
		for range 300 {
			if _, err := s.Next(nil, 1, 1000, 0, NamesOnly); err != nil {
				t.Fatal(err)
			}
		}
		before := encoding(s)
		p, err := s.Preview(1000)
		if err != nil {
			t.Fatal(err)
		}
		list, err := p.Due(t.Context(), 50, 2)
		if err != nil || !bytes.Equal(before, encoding(s)) {
			t.Fatalf("%s: %v, and the same bytes: %v", policy, err, bytes.Equal(before, encoding(s)))
		}
		for i, want := range list {
			picks, err := s.Next(nil, 2, 1000, 0, NamesOnly)
			if err != nil || strings.Join(namesOf(picks), " ") != strings.Join(want.Nodes, " ") || s.Step() != want.Step {
				t.Fatalf("%s, call %d: %v in step %d, %v; foreseen was %v in step %d", policy, i, namesOf(picks), s.Step(), err, want.Nodes, want.Step)
			}
		}
	}
}

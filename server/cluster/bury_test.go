package cluster

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/structures/slots"
)

// claims is a table of groups that claim slots, all since the same time and in the order of their names.
func claims(t testing.TB, of map[string]string) table {
	t.Helper()
	all := table{}
	for name, text := range of {
		all[name] = &Group{Name: name, Index: 1, Claim: Claim{Slots: slotSet(t, text), Since: 10}, Members: []GroupMember{{ID: 1, Address: "h:1"}}}
	}
	return all
}

func buries(all table, burier, name string, at uint64) {
	g := all[burier]
	g.Claim.Buried = withBurial(g.Claim.Buried, Burial{name, at})
}

// The slots of a group that lies buried are of nobody, whichever groups have buried it, and of whoever claims them later. A later claim
// of the group changes nothing, and that it has risen does, if it knew of all burials.
func TestSlotsOfABuriedGroupAreOfNobody(t *testing.T) {
	want := func(what string, all table, of map[string]string) {
		t.Helper()
		got, _, taken := all.divide()
		sum := new(slots.Set)
		for name := range all {
			if got[name].String() != of[name] {
				t.Errorf("%s: group %s has %q, want %q", what, name, got[name], of[name])
			}
			sum = sum.Union(got[name])
		}
		if !taken.Equal(sum) {
			t.Errorf("%s: taken are %s of %s", what, taken, sum)
		}
	}
	all := claims(t, map[string]string{"a": "0-9", "b": "10-19", "c": "20-29"})
	buries(all, "b", "a", 100)
	want("one burial", all, map[string]string{"b": "10-19", "c": "20-29"})
	buries(all, "c", "a", 200)
	want("two burials", all, map[string]string{"b": "10-19", "c": "20-29"})
	all["c"].Claim.Slots = slotSet(t, "5 20-29")
	want("another group takes a slot, which has had slots for less long", all, map[string]string{"b": "10-19", "c": "5 20-29"})
	all["a"].Claim.Since = 300
	want("a claim after the burials", all, map[string]string{"b": "10-19", "c": "5 20-29"})
	all["a"].Claim.Risen = 199
	want("risen from the first burial", all, map[string]string{"b": "10-19", "c": "5 20-29"})
	all["a"].Claim.Risen = 200
	want("risen", all, map[string]string{"a": "0-4 6-9", "b": "10-19", "c": "5 20-29"})
	buries(all, "a", "b", 50)
	want("it buries another one", all, map[string]string{"a": "0-4 6-9", "c": "5 20-29"})
	buries(all, "b", "a", 201)
	want("two groups bury each other", all, map[string]string{"c": "5 20-29"})
	buries(all, "b", "nobody", 201)
	want("a group that nobody knows is buried", all, map[string]string{"c": "5 20-29"})
	if lie := all.lying(); !reflect.DeepEqual(lie, map[string]uint64{"a": 201, "b": 50, "nobody": 201}) {
		t.Errorf("%v lie buried", lie)
	}
}

// Slots that were given to a group which lies buried are about to come back, unless another one has claimed them. What such a group gave
// away itself does not count.
func TestSlotsGivenToABuriedGroupComeBack(t *testing.T) {
	all := claims(t, map[string]string{"a": "0-9", "b": "10-19", "c": "7"})
	all["a"].Claim.Slots = slotSet(t, "0-4")
	all["a"].Claim.Given = []Move{{1, "b", slotSet(t, "5-7"), moveOpen}, {2, "c", slotSet(t, "8"), moveOpen}}
	all["b"].Claim.Given = []Move{{3, "c", slotSet(t, "15"), moveOpen}}
	buries(all, "a", "b", 100)
	_, come, taken := all.divide()
	if come["a"].String() != "5-6" || come["c"].String() != "8" || come["b"] != nil || taken.String() != "0-8" {
		t.Errorf("to a come %s, to b %s, to c %s; taken are %s", come["a"], come["b"], come["c"], taken)
	}
}

func someBurials(n int) (all []Burial) {
	for i := range n {
		all = withBurial(all, Burial{strconv.Itoa(i), uint64(1000 + i)})
	}
	return all
}

// Burials are kept with the members, in entries and in tables; what has none is written as before there were any.
func TestBurialsAreReadAsTheyWereWritten(t *testing.T) {
	for _, c := range []Claim{{Slots: slotSet(t, "0-9"), Since: 5, Buried: someBurials(3)}, {Slots: new(slots.Set), Risen: 7},
		{Slots: slotSet(t, "3"), Since: 1, Given: someMoves(t), Taking: someMoves(t)[1:], Buried: append([]Burial{{"", 1 << 62}}, someBurials(maxBuried-1)...), Risen: 9}} {
		b := c.entry()
		if got := decodeClaim(b, Claim{}); !reflect.DeepEqual(got.entry(), b) || !slices.Equal(got.Buried, c.Buried) || got.Risen != c.Risen || len(got.Given) != len(c.Given) {
			t.Errorf("%+v is read as %+v", c, got)
		}
		behind := len(Claim{Slots: c.Slots, Since: c.Since, Given: c.Given, Taking: c.Taking}.entry())
		for n := max(behind, len(c.append(nil))+2) + 1; n < len(b); n++ {
			if got := decodeClaim(b[:n], Claim{Since: 77}); got.Since != 77 {
				t.Errorf("%d of %d bytes: %+v", n, len(b), got)
			}
		}
		m := &Members{Index: 7, Conf: &raftpb.ConfState{Voters: []uint64{4}}, Addresses: map[uint64]string{4: "a:1"}, Base: 3, Claim: c}
		got, err := decodeMembers(7, m.encode())
		if err != nil || !reflect.DeepEqual(got.entry(), b) || got.Base != 3 {
			t.Errorf("members: %+v, %v", got, err)
		}
		all := table{"g": {Name: "g", Index: 4, Claim: c, Term: 2}, "h": {Name: "h", Claim: Claim{Slots: new(slots.Set)}}}
		read, err := decodeTable(all.encode())
		if err != nil || !slices.Equal(read["g"].Claim.Buried, c.Buried) || read["g"].Claim.Risen != c.Risen || read["g"].Term != 2 || read["h"].Claim.buries() {
			t.Errorf("table: %+v, %v", read["g"], err)
		}
	}
	for what, bad := range map[string][]Burial{
		"no time":      {{"a", 0}},
		"a name twice": {{"a", 1}, {"a", 2}},
		"in disorder":  {{"b", 1}, {"a", 2}},
		"a long name":  {{strings.Repeat("n", maxGroupName+1), 1}},
		"too many":     someBurials(maxBuried + 1),
	} {
		d, c := decoder{b: Claim{Buried: bad}.appendBurials(nil)}, Claim{}
		if d.burials(&c); d.err == nil {
			t.Errorf("%s: %v", what, c.Buried)
		}
	}
	d, c := decoder{b: []byte{0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}}, Claim{}
	if d.burials(&c); d.err == nil || c.Buried != nil {
		t.Errorf("a length that is a lie: %v, %v", c, d.err)
	}
}

// Tables, members and entries without burials are those of versions that knew of none, which are read as they are.
func TestFormsWithoutBurialsAreTheFormerOnes(t *testing.T) {
	c := Claim{Slots: slotSet(t, "3-5"), Since: 9}
	moves := c
	moves.Given = []Move{{1, "b", slotSet(t, "1"), moveOpen}}
	for want, c := range map[string]Claim{"\x09\x01\x03\x02": c, "\x09\x01\x03\x02" + "\x01\x01\x00\x01b\x01\x01\x00" + "\x00": moves} {
		if got := c.entry(); string(got) != want {
			t.Errorf("an entry is %q, want %q", got, want)
		}
		if got := decodeClaim([]byte(want), Claim{}); got.buries() || !got.Slots.Equal(c.Slots) || len(got.Given) != len(c.Given) {
			t.Errorf("%q is read as %+v", want, got)
		}
		format := byte(1)
		if c.moving() {
			format = 2
		}
		b := table{"a": {Name: "a", Claim: c}}.encode()
		if got, err := decodeTable(b); b[0] != format || err != nil || got["a"].Claim.buries() {
			t.Errorf("a table begins with %d, and is read as %+v, %v", b[0], got, err)
		}
		m := &Members{Index: 1, Conf: &raftpb.ConfState{Voters: []uint64{4}}, Claim: c}
		if b := m.encode(); b[0] != format+1 {
			t.Errorf("members begin with %d", b[0])
		}
	}
}

// Whatever comes as a claim is read as one that is written again alike, or changes nothing.
func FuzzClaimIsReadOrIgnored(f *testing.F) {
	f.Add(Claim{Slots: slotSet(f, "0-5 9"), Since: 3}.entry())
	f.Add(Claim{Slots: slotSet(f, "1"), Given: someMoves(f), Taking: someMoves(f)[:1], Buried: someBurials(3), Risen: 8}.entry())
	f.Add([]byte{0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		got := decodeClaim(b, Claim{Since: 77})
		if got.Slots == nil {
			if got.Since != 77 || got.buries() || got.moving() {
				t.Errorf("what is no claim is read as %+v", got)
			}
			return
		}
		if again := decodeClaim(got.entry(), Claim{}); !bytes.Equal(again.entry(), got.entry()) {
			t.Errorf("%+v is read as %+v", got, again)
		}
	})
}

// Of two burials of a group the later one is noted, and the list that it is added to stays what it was.
func TestBurialsAreNotedInOrder(t *testing.T) {
	var all []Burial
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		b := Burial{strconv.Itoa(r.IntN(20)), 1 + r.Uint64N(50)}
		before, copied := all, slices.Clone(all)
		all = withBurial(all, b)
		if !slices.Equal(before, copied) {
			t.Fatalf("%v became %v", copied, before)
		}
		if got := burialOf(all, b.Group); got != max(b.At, burialOf(before, b.Group)) {
			t.Fatalf("%v in %v is noted as of %d", b, before, got)
		}
	}
	if !slices.IsSortedFunc(all, func(a, b Burial) int { return strings.Compare(a.Group, b.Group) }) || len(all) != 20 {
		t.Errorf("%v", all)
	}
}

// What speaks against a burial is said.
func TestGroupsThatCannotBeBuried(t *testing.T) {
	for what, x := range map[string]struct {
		change func(o *others, m *Members)
		want   error
		text   string
	}{
		"one that is silent":               {func(*others, *Members) {}, nil, ""},
		"one that was heard lately":        {func(o *others, _ *Members) { o.heard["b"] += time.Second }, nil, "only one that has been silent for 2m0s"},
		"one that was not heard since":     {func(o *others, _ *Members) { delete(o.heard, "b"); o.began = Now() }, nil, "only one that has been silent"},
		"one that was never heard":         {func(o *others, _ *Members) { delete(o.heard, "b") }, nil, ""},
		"the own one":                      {func(o *others, _ *Members) { o.name = "b" }, errBuryOwn, ""},
		"one that is not known":            {func(o *others, _ *Members) { delete(o.table, "b") }, errLies, ""},
		"one that lies":                    {func(o *others, _ *Members) { buries(o.table, "c", "b", 5) }, errLies, ""},
		"another one, by one that lies":    {func(o *others, _ *Members) { buries(o.table, "c", "a", 5) }, errSelfLies, ""},
		"one more than are noted":          {func(_ *others, m *Members) { m.Buried = someBurials(maxBuried) }, errBuryMany, ""},
		"one again":                        {func(_ *others, m *Members) { m.Buried = withBurial(someBurials(maxBuried-1), Burial{"b", 3}) }, nil, ""},
		"one that has risen in the future": {func(o *others, _ *Members) { o.table["b"].Claim.Risen = 1 << 60 }, nil, ""},
	} {
		o, m := bareOthers(), &Members{Claim: Claim{Slots: new(slots.Set)}}
		o.table = claims(t, map[string]string{"b": "0-9", "c": "10"})
		o.heard["b"], o.began = Now()-2*time.Minute, Now()-2*time.Minute
		x.change(o, m)
		o.division.Store(&Division{lie: o.table.lying()})
		b, err := o.mayBury(m, "b")
		switch {
		case x.text != "" && (err == nil || !strings.Contains(err.Error(), x.text)), x.text == "" && !errors.Is(err, x.want):
			t.Errorf("%s: %v, want %v %s", what, err, x.want, x.text)
		case err == nil && (b.Group != "b" || b.At <= o.table["b"].Claim.Risen || b.At == 0):
			t.Errorf("%s: %+v", what, b)
		}
	}
}

// A group that lies buried is not spoken to, and makes room for others.
func TestBuriedGroupsAreNotSpokenTo(t *testing.T) {
	o := bareOthers()
	o.n.config.Cluster.Contacts = []string{"h:1", "h:9"}
	o.table = claims(t, map[string]string{"b": "0-9", "c": "10"})
	o.table["c"].Members[0].Address = "h:2"
	buries(o.table, "c", "b", 5)
	for _, everybody := range []bool{true, false} {
		if got := o.targets(everybody); !slices.Equal(got, []string{"h:2", "h:9"}) {
			t.Errorf("spoken to are %v", got)
		}
	}
	for i := range maxGroups {
		o.table[strconv.Itoa(i)] = &Group{Name: strconv.Itoa(i), Members: []GroupMember{{ID: 1}}}
		if len(o.table) == maxGroups-1 {
			break
		}
	}
	if !o.table.hasRoom() || o.table["b"] != nil {
		t.Error("the group that lies buried takes the place of others")
	}
	if o.table["new"] = (&Group{Name: "new", Members: []GroupMember{{ID: 1}}}); o.table.hasRoom() {
		t.Errorf("%d groups leave room", len(o.table))
	}
}

package topology

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/snapshot"
)

func TestIdentityIsReadAsItWasWritten(t *testing.T) {
	for _, i := range []*Identity{
		{Group: [16]byte{1, 2}, Member: 1, Known: map[uint64]string{}},
		{Group: [16]byte{9}, Member: 1 << 40, Starts: 300, Address: "[::1]:7001", Replaces: 2, Left: true, Known: map[uint64]string{1: "a:1", 300: "", 2: "b:2"},
			Name: "a group", Others: []byte("others")},
		{Group: [16]byte{9}, Member: 5, Known: map[uint64]string{}, Name: "a group", Bound: "another"},
	} {
		b := i.Encode()
		got, err := DecodeIdentity(b)
		if err != nil || !reflect.DeepEqual(got, i) {
			t.Errorf("%+v, %v, want %+v", got, err, i)
		}
		for n := 1; n < len(b); n++ {
			if got, err := DecodeIdentity(b[:n]); !errors.Is(err, grouplog.ErrCorrupt) {
				t.Errorf("%d of %d bytes: %+v, %v", n, len(b), got, err)
			}
		}
		if _, err := DecodeIdentity(append(b, 0)); !errors.Is(err, grouplog.ErrCorrupt) {
			t.Errorf("a byte more: %v", err)
		}
		if _, err := DecodeIdentity(append([]byte{9}, b[1:]...)); !errors.Is(err, grouplog.ErrCorrupt) {
			t.Errorf("another format: %v", err)
		}
	}
	if got, err := DecodeIdentity(nil); got != nil || err != nil {
		t.Errorf("nothing: %+v, %v", got, err)
	}
}

func TestIdentityBelongsToOneMemberOfOneGroup(t *testing.T) {
	i := &Identity{Group: GroupID("one", "a"), Name: "a", Member: 4}
	for _, c := range []struct {
		secret, name string
		member       uint64
		want         string
	}{{"one", "a", 4, ""}, {"one", "", 0, ""}, {"one", "a", 5, "swapped"}, {"two", "a", 4, "another group"}, {"two", "", 0, "another group"},
		{"one", "b", 4, `cluster-group is "b"`}} {
		err := i.Belongs(c.secret, c.name, c.member)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("secret %q, group %q, member %d: %v, want %q", c.secret, c.name, c.member, err, c.want)
		}
	}
}

// A directory knows the part that its group was made of, and one without a part is as before.
func TestIdentityKnowsItsPart(t *testing.T) {
	restored := &snapshot.Origin{Group: "b", Whole: &snapshot.Whole{Name: "monday", ID: "x", Parts: []snapshot.Part{{Group: "b", Slots: "6-16383"}}}}
	for _, origin := range []*snapshot.Origin{nil, restored} {
		i := &Identity{Name: "n", Member: 3, Known: map[uint64]string{}, Address: "127.0.0.1:7001", Others: []byte("table"), Restored: origin}
		b := i.Encode()
		if want := map[bool]byte{true: identityRestored, false: identityFormat}[origin != nil]; b[0] != want {
			t.Errorf("format %d, want %d", b[0], want)
		}
		if got, err := DecodeIdentity(b); err != nil || !reflect.DeepEqual(got, i) {
			t.Errorf("got %+v, %v, want %+v", got, err, i)
		}
		for n := 1; n < len(b); n++ {
			if _, err := DecodeIdentity(b[:n]); err == nil {
				t.Fatalf("%d of %d bytes decode", n, len(b))
			}
		}
	}
}

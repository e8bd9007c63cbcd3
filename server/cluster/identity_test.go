package cluster

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence/grouplog"
)

func TestIdentityIsReadAsItWasWritten(t *testing.T) {
	for _, i := range []*identity{
		{Group: [16]byte{1, 2}, Member: 1, Known: map[uint64]string{}},
		{Group: [16]byte{9}, Member: 1 << 40, Starts: 300, Address: "[::1]:7001", Replaces: 2, Left: true, Known: map[uint64]string{1: "a:1", 300: "", 2: "b:2"},
			Name: "a group", Others: []byte("others")},
		{Group: [16]byte{9}, Member: 5, Known: map[uint64]string{}, Name: "a group", Bound: "another"},
	} {
		b := i.encode()
		got, err := decodeIdentity(b)
		if err != nil || !reflect.DeepEqual(got, i) {
			t.Errorf("%+v, %v, want %+v", got, err, i)
		}
		for n := 1; n < len(b); n++ {
			if got, err := decodeIdentity(b[:n]); !errors.Is(err, grouplog.ErrCorrupt) {
				t.Errorf("%d of %d bytes: %+v, %v", n, len(b), got, err)
			}
		}
		if _, err := decodeIdentity(append(b, 0)); !errors.Is(err, grouplog.ErrCorrupt) {
			t.Errorf("a byte more: %v", err)
		}
		if _, err := decodeIdentity(append([]byte{9}, b[1:]...)); !errors.Is(err, grouplog.ErrCorrupt) {
			t.Errorf("another format: %v", err)
		}
	}
	if got, err := decodeIdentity(nil); got != nil || err != nil {
		t.Errorf("nothing: %+v, %v", got, err)
	}
}

func TestIdentityBelongsToOneMemberOfOneGroup(t *testing.T) {
	i := &identity{Group: groupID("one", "a"), Name: "a", Member: 4}
	for _, c := range []struct {
		secret, name string
		member       uint64
		want         string
	}{{"one", "a", 4, ""}, {"one", "", 0, ""}, {"one", "a", 5, "swapped"}, {"two", "a", 4, "another group"}, {"two", "", 0, "another group"},
		{"one", "b", 4, `cluster-group is "b"`}} {
		err := i.belongs(c.secret, c.name, c.member)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("secret %q, group %q, member %d: %v, want %q", c.secret, c.name, c.member, err, c.want)
		}
	}
}

// The entry behind which the members are those of the present group is kept with them, and goes on with
// changes.
func TestBaseOfMembersIsKept(t *testing.T) {
	m := &Members{Index: 7, Conf: &raftpb.ConfState{Voters: []uint64{4}}, Addresses: map[uint64]string{4: "a:1"}, Left: []uint64{1, 2, 3}, Base: 7}
	got, err := decodeMembers(7, m.encode())
	if err != nil || got.Base != 7 {
		t.Fatalf("%+v, %v", got, err)
	}
	if next := got.after(8, addition(5), &raftpb.ConfState{Voters: []uint64{4, 5}}); next.Base != 7 {
		t.Errorf("after a change: %+v", next)
	}
	for _, b := range [][]byte{append(m.encode(), 0), m.encode()[:len(m.encode())-2]} {
		if _, err := decodeMembers(7, b); err == nil {
			t.Errorf("%v is read", b)
		}
	}
}

func TestAddressesOfMembersAreChecked(t *testing.T) {
	for address, want := range map[string]string{"10.0.0.1:7001": "10.0.0.1:17001", "[::1]:1": "[::1]:10001", "name:55535": "name:65535",
		"name:60000@1": "name:60000@1", "[::1]:7@8": "[::1]:7@8", "name:7@7": "", "name:7@x": "", "name:7@0": "", "name@8": "",
		"name:55536": "", "name": "", ":7001": "", "name:0": "", "name:x": "", "": ""} {
		got, err := busOf(address)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("busOf(%q): %q, %v, want %q", address, got, err, want)
		}
		if want != "" && clientsOf(want) != address {
			t.Errorf("clientsOf(%q): %q", want, clientsOf(want))
		}
	}
	for _, bad := range []string{"name:9999", "name:7@10007", "name:7@7", "name", ":17001", ""} {
		if got := clientsOf(bad); got != "" {
			t.Errorf("clientsOf(%q): %q", bad, got)
		}
	}
	if got, err := ParseContacts(" a:1  b:2@10002 c:3@4 "); err != nil || !reflect.DeepEqual(got, []string{"a:1", "b:2", "c:3@4"}) {
		t.Errorf("%q, %v", got, err)
	}
}

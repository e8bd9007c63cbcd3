package cluster

import (
	"errors"
	"strings"
	"testing"

	"github.com/vigildb/vigil/server/cluster/topology"
)

// A server is taken in whose store has the hashes and the databases of the group. One of an older version says nothing of them.
func TestServerThatJoinsHasTheHashesOfTheGroup(t *testing.T) {
	const secret = "0123456789abcdef"
	hashes, err := topology.Hashes(secret)
	if err != nil {
		t.Fatal(err)
	}
	usual, own := common{hashes, 16}, common{[16]byte{1}, 32}
	for _, x := range []struct {
		name  string
		group common
		asks  request
		want  string
	}{
		{"as the configuration says", usual, request{Hashes: usual.id(), Databases: 16}, ""},
		{"an older version", usual, request{}, ""},
		{"of a store that was alone", own, request{Hashes: own.id(), Databases: 32}, ""},
		{"an older version in such a group", own, request{}, "other hashes"},
		{"a store that was made before", own, request{Hashes: usual.id(), Databases: 32}, "other hashes"},
		{"the store of such a group in another one", usual, request{Hashes: own.id(), Databases: 16}, "other hashes"},
		{"other databases", own, request{Hashes: own.id(), Databases: 16}, "the group has 32 databases, and the store of the server 16"},
		{"nonsense", usual, request{Hashes: []byte{1}, Databases: -1}, "other hashes"},
	} {
		err := x.group.admits(&x.asks, secret)
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: got %v, want %q", x.name, err, x.want)
		}
	}
	if string(usual.id()) == string(hashes[:]) {
		t.Error("the digest tells the secret")
	}
	if err := usual.admits(&request{}, "short"); err == nil || errors.Is(err, errOtherHashes) {
		t.Errorf("a secret that is too short: %v", err)
	}
}

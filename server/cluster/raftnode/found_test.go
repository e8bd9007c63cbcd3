package raftnode

import (
	"errors"
	"slices"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/disktest"
)

// openTurned opens a store that was alone, and is to found a group.
func openTurned(t *testing.T, disk *disktest.Disk) *persistence.Store {
	t.Helper()
	store, err := persistence.Open(persistence.Options{FS: disk, Dir: "db", Databases: 1, Replicator: new(Proposals)})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// turned makes a store that was alone, and is to found a group.
func turned(t *testing.T) *disktest.Disk {
	t.Helper()
	disk := disktest.New()
	o := persistence.Options{FS: disk, Dir: "db", Databases: 1}
	store, err := persistence.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	var set persistence.Shards
	set.AddAll()
	tx := store.NewTx()
	tx.Lock(&set, 1)
	tx.SetString([]byte("k"), []byte("v"), persistence.NoExpiry)
	tx.Commit()
	tx.Unlock()
	if err := errors.Join(store.Close(), persistence.BecomeMember(o)); err != nil {
		t.Fatal(err)
	}
	return disk
}

// A store that was alone founds a group behind an entry that nobody has, so that others need the state. What a machine that failed amid that has
// left does not count.
func TestStoreThatWasAloneFoundsAGroup(t *testing.T) {
	for _, torn := range []bool{false, true} {
		disk := turned(t)
		store := openTurned(t, disk)
		if !Unfounded(store.Member()) {
			t.Fatal("the group is founded already")
		}
		if torn { // without the hard state behind it
			kind, data, err := raftpb.MarshalConfChange(&raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{single(raftpb.ConfChangeAddNode, 1)}})
			if err != nil {
				t.Fatal(err)
			}
			term, index := uint64(foundingTerm), uint64(2)
			entries, err := toEntries([]*raftpb.Entry{{Term: &term, Index: &index, Type: &kind, Data: data}})
			if err = errors.Join(err, store.Member().Append(entries, nil), store.Close()); err != nil {
				t.Fatal(err)
			}
			store = openTurned(t, disk)
		}
		var before *Members
		for range 2 { // and again, from its directory
			r, err := OpenReplica(store.Member(), []Peer{{ID: 1}}, true)
			if err != nil {
				t.Fatalf("torn %v: %v", torn, err)
			}
			m := r.Members()
			first, err := r.FirstIndex()
			if err != nil || first != 2 || r.Applied() != 3 || !slices.Equal(m.IDs(), []uint64{1}) || m.Level != persistence.NewestLevel() || Unfounded(store.Member()) || r.Lost() {
				t.Fatalf("torn %v: the log begins with entry %d, %d are applied, members %+v, lost %v, %v", torn, first, r.Applied(), m, r.Lost(), err)
			}
			if before != nil && before.Index != m.Index {
				t.Errorf("members as of entry %d, and after a start as of %d", before.Index, m.Index)
			}
			before = m
			if err := errors.Join(r.Close(), store.Close()); err != nil {
				t.Fatal(err)
			}
			store = openTurned(t, disk)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A store becomes alone with what its log has, whether it knows of the commit or not, and of a group that is not founded as well.
func TestStoreIsAloneAgainWithWhatItsLogHas(t *testing.T) {
	for _, founded := range []bool{false, true} {
		disk := turned(t)
		store := openTurned(t, disk)
		if founded {
			if _, err := NewReplica(store.Member(), []uint64{1}, false); err != nil {
				t.Fatal(err)
			}
		}
		o := persistence.Options{FS: disk, Dir: "db", Databases: 1, Replicator: new(Proposals)}
		nothing := func(_, _ map[string]string) error { return nil }
		if err := errors.Join(store.Close(), persistence.BecomeAlone(o, CommitAll, nothing)); err != nil {
			t.Fatalf("founded %v: %v", founded, err)
		}
		o.Replicator = nil
		alone, err := persistence.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		var set persistence.Shards
		set.AddAll()
		tx := alone.NewTx()
		tx.Lock(&set, 1)
		if v, _, err := tx.String([]byte("k")); string(v) != "v" || err != nil {
			t.Errorf("founded %v: k is %q, %v", founded, v, err)
		}
		tx.Unlock()
		if err := alone.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

package topology

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/snapshot"
)

// Identity is what a directory says of its member and group. It is written before the
// member does anything under it, so two directories that were swapped, and one of another
// group, are noticed at the start.
type Identity struct {
	Group    [16]byte // see groupID
	Name     string   // of the group
	Member   uint64
	Starts   uint64 // how often a server has started from the directory
	Address  string // at which clients connect, as the group knows it
	Replaces uint64 // the voter in whose place a member that joins is to vote, 0 for none
	Left     bool   // it has left the group, for good
	Known    map[uint64]string
	Others   []byte // the other groups of the cluster, as an encoded table
	// Restored is the part of a cluster snapshot that the group began with, nil if it began in another way, or if the
	// member joined it later.
	Restored *snapshot.Origin
	// Bound is another group that this server has asked to take it in, whose member it is not yet; "" for none.
	Bound string
}

// identityFormat is the first byte of an identity on disk. All numbers are uvarints:
//
//	2 (1) | group (16) | member | starts | replaces | 1 if it has left (1)
//	address as length, bytes | other members as number of them, each id, length, bytes
//	name of the group as length, bytes | table of other groups as length, bytes
//	if the first byte is 3: Restored in JSON as length, bytes; if it is 4 the same, of no bytes without it, and Bound as length, bytes
//
// The other members are those that it was told of when it joined. The log tells better as
// soon as it has come. Format 1 ends before the name.
const (
	identityFormat         = 2
	identityWithoutCluster = 1
	identityRestored       = 3
	identityBound          = 4
)

var errIdentity = fmt.Errorf("the identity of the member does not decode: %w", grouplog.ErrCorrupt)

// Encode returns the identity as it is on disk.
func (i *Identity) Encode() []byte {
	format, restored := byte(identityFormat), []byte(nil)
	if i.Restored != nil {
		if text, err := json.Marshal(i.Restored); err == nil { // it was decoded from such a text
			format, restored = identityRestored, binary.AppendUvarint(nil, uint64(len(text)))
			restored = append(restored, text...)
		}
	}
	b := append([]byte{format}, i.Group[:]...)
	left := byte(0)
	if i.Left {
		left = 1
	}
	b = binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(b, i.Member), i.Starts), i.Replaces)
	b = AppendText(append(b, left), i.Address)
	b = binary.AppendUvarint(b, uint64(len(i.Known)))
	for _, id := range sortedIDs(i.Known) {
		b = AppendText(binary.AppendUvarint(b, id), i.Known[id])
	}
	if i.Bound != "" {
		if b[0] = identityBound; len(restored) == 0 {
			restored = []byte{0}
		}
		restored = AppendText(restored, i.Bound)
	}
	return append(AppendText(AppendText(b, i.Name), string(i.Others)), restored...)
}

func sortedIDs[V any](of map[uint64]V) (ids []uint64) {
	for id := range of {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// DecodeIdentity reads what encode wrote; nothing is a directory that belongs to no member yet.
func DecodeIdentity(b []byte) (*Identity, error) {
	if len(b) == 0 {
		return nil, nil
	}
	i := &Identity{Known: map[uint64]string{}}
	if len(b) < 1+len(i.Group) {
		return nil, errIdentity
	}
	if b[0] < identityWithoutCluster || b[0] > identityBound {
		return nil, fmt.Errorf("identity of the member in format %d: %w", b[0], grouplog.ErrCorrupt)
	}
	copy(i.Group[:], b[1:])
	d := Decoder{Rest: b[1+len(i.Group):]}
	i.Member, i.Starts, i.Replaces = d.Number(), d.Number(), d.Number()
	i.Left = d.Number() == 1
	i.Address = string(d.Bytes(d.Number()))
	for n := d.Number(); n > 0 && d.Err == nil; n-- {
		id := d.Number()
		i.Known[id] = string(d.Bytes(d.Number()))
	}
	if b[0] >= identityFormat {
		i.Name = d.Text(MaxGroupName)
		i.Others = append(i.Others, d.Bytes(d.Number())...)
	}
	if b[0] >= identityRestored {
		if text := d.Bytes(d.Number()); len(text) > 0 || b[0] == identityRestored {
			i.Restored = new(snapshot.Origin)
			if d.Err == nil && (json.Unmarshal(text, i.Restored) != nil || i.Restored.Part() == nil) {
				return nil, errIdentity
			}
		}
	}
	if b[0] == identityBound {
		if i.Bound = d.Text(MaxGroupName); i.Bound == "" {
			return nil, errIdentity
		}
	}
	if d.Err != nil || len(d.Rest) > 0 || i.Member == 0 {
		return nil, errIdentity
	}
	return i, nil
}

// Belongs returns an error unless the directory is that of a member of a group with the secret, and of the
// group and the member that were asked for, if any were.
func (i *Identity) Belongs(secret, name string, member uint64) error {
	switch {
	case name != "" && name != i.Name:
		return fmt.Errorf("cluster: the directory belongs to member %d of the group %q, and cluster-group is %q", i.Member, i.Name, name)
	case i.Group != GroupID(secret, i.Name):
		return fmt.Errorf("cluster: the directory belongs to member %d of another group: cluster-secret is not the one that the group began with, or the directory is another one's", i.Member)
	case member != 0 && member != i.Member:
		return fmt.Errorf("cluster: the directory belongs to member %d, and cluster-member-id is %d: directories of members may have been swapped", i.Member, member)
	}
	return nil
}

package cluster

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errDisabled     = commands.WireError("ERR This instance has cluster support disabled")
	errNotKnown     = commands.WireError("CLUSTERDOWN The cluster is down")
	errSlot         = commands.WireError("ERR Invalid slot")
	errSlotOrCount  = commands.WireError("ERR Invalid slot or number of keys")
	errNotMaster    = commands.WireError("ERR The specified node is not a master")
	errIsMaster     = commands.WireError("ERR You should send CLUSTER FAILOVER to a replica")
	errMasterIsDown = commands.WireError("ERR Master is down or failed, please use CLUSTER FAILOVER FORCE")
	errMembers      = commands.WireError("ERR a group decides by itself who leads, and its members are changed as docs/cluster.md describes")
	errSlots        = commands.WireError("ERR a group has all slots, and they cannot be moved")
	errEpoch        = commands.WireError("ERR the epoch is the number of the leadership: CLUSTER FAILOVER, sent to a replica, begins a new one")
)

func errUnknownNode(id []byte) commands.WireError {
	return commands.Errorf("ERR Unknown node %.128s", id)
}

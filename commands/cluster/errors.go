package cluster

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/slots"
)

// Errors that only this family returns, word for word as clients see them.
const (
	errDisabled        = commands.WireError("ERR This instance has cluster support disabled")
	errNotKnown        = commands.WireError("CLUSTERDOWN The cluster is down")
	errSlot            = commands.WireError("ERR Invalid slot")
	errSlotOrCount     = commands.WireError("ERR Invalid slot or number of keys")
	errScanSlotTwice   = commands.WireError("ERR SLOT option can only be specified once")
	errNotMaster       = commands.WireError("ERR The specified node is not a master")
	errIsMaster        = commands.WireError("ERR You should send CLUSTER FAILOVER to a replica")
	errMasterIsDown    = commands.WireError("ERR Master is down or failed, please use CLUSTER FAILOVER FORCE")
	errReplicateSelf   = commands.WireError("ERR Can't replicate myself")
	errNotAMaster      = commands.WireError("ERR I can only replicate a master, not a replica.")
	errNotEmpty        = commands.WireError("ERR To set a master the node must be empty and without assigned slots.")
	errForgetSelf      = commands.WireError("ERR I tried hard but I can't forget myself...")
	errForgetMaster    = commands.WireError("ERR Can't forget my master!")
	errResetKeys       = commands.WireError("ERR CLUSTER RESET can't be called with master nodes containing keys")
	errSetSlotMaster   = commands.WireError("ERR Please use SETSLOT only with masters.")
	errSetSlotAction   = commands.WireError("ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP")
	errTargetNotMaster = commands.WireError("ERR Target node is not a master")
	errSlotRange       = commands.WireError("ERR Invalid or out of range slot")
	errMoveToSelf      = commands.WireError("ERR The node has the slots already")
	errMoveToReplica   = commands.WireError("ERR The node that slots go to has to be a master")
	errCursor          = commands.WireError("ERR Invalid cursor")
	errCursorSlot      = commands.WireError("ERR Cursor slot mismatch with SLOT argument")
	errSlotMetric      = commands.WireError("ERR Unrecognized sort metric for ORDERBY.")
	errSlotLimit       = commands.WireError("ERR Limit has to lie in between 1 and 16384 (maximum number of slots).")
	errSlotFilters     = commands.WireError("ERR Multiple filters of the same type are disallowed.")
	errSlotStats       = commands.WireError("ERR unknown subcommand or wrong number of arguments for 'slot-stats'. Try CLUSTER HELP.")
	errNoTask          = commands.WireError("ERR A task has an ID that is not empty")
	errFlushSlots      = commands.WireError("ERR DB must be empty to perform CLUSTER FLUSHSLOTS.")
)

func errUnknownNode(id []byte) commands.WireError {
	return commands.Errorf("ERR Unknown node %.128s", id)
}

func errNoSuchNode(id []byte) commands.WireError {
	return commands.Errorf("ERR I don't know about node %.128s", id)
}

func errForgetSlots(id []byte) commands.WireError {
	return commands.Errorf("ERR the node has slots: VIGIL.CLUSTER REBALANCE WEIGHT %.128s 0 moves them to the others, and VIGIL.CLUSTER BURY gives up a group that is gone for good", id)
}

func errSlotBusy(slot int) error { return commands.Errorf("ERR Slot %d is already busy", slot) }

func errSlotFree(slot int) error { return commands.Errorf("ERR Slot %d is already unassigned", slot) }

func errSlotNotOwn(slot int) error {
	return commands.Errorf("ERR Slot %d is not one of this node", slot)
}

func errSlotOwned(slot int) error {
	return commands.Errorf("ERR Slot %d is already one of this node", slot)
}

func errSlotOfOther(slot int) error {
	return commands.Errorf("ERR Slot %d is not one of the node that has the first slot: a task moves slots of one node", slot)
}

func errSlotOfNone(slot int) error {
	return commands.Errorf("ERR Slot %d is not one of any node", slot)
}

func errSlotNotOwned(slot int) error {
	return commands.Errorf("ERR I'm not the owner of hash slot %d", slot)
}

func errSlotTwice(slot int) error {
	return commands.Errorf("ERR Slot %d specified multiple times", slot)
}

func errSlotOrder(r slots.Range) error {
	return commands.Errorf("ERR start slot number %d is greater than end slot number %d", r.First, r.Last)
}

func errSlotHasKeys(slot int) error {
	return commands.Errorf("ERR Slot %d has keys, which nobody would see: remove them first", slot)
}

func errEpoch(n int64) error {
	return commands.Errorf("ERR Invalid config epoch specified: %d", n)
}

func errBasePort(port []byte) error {
	return commands.Errorf("ERR Invalid base port specified: %.128s", port)
}

func errBusPort(port []byte) error {
	return commands.Errorf("ERR Invalid bus port specified: %.128s", port)
}

func errNodeAddress(host string, port []byte) error {
	return commands.Errorf("ERR Invalid node address specified: %.128s:%.16s", host, port)
}

func errStatsOrder(first, last int64) error {
	return commands.Errorf("ERR Start slot number %d is greater than end slot number %d", first, last)
}

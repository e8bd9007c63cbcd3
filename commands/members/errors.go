package members

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errAlone      = commands.WireError("ERR This server is not a member of a group")
	errNoLeader   = commands.WireError("CLUSTERDOWN The group has no leader now")
	errRecover    = commands.WireError("ERR RECOVER lets this member vote although it may lack writes that it has acknowledged, so they may be lost for good: say RECOVER LOSE-WRITES. Start all members that still have their data first, and see which has the most entries (VIGIL.CLUSTER STATUS at each)")
	errBury       = commands.WireError("ERR BURY gives up a group that is gone for good, with its keys: another group can have its slots then. Members that are only cut off still take writes of their clients, which are lost: stop them first, and say BURY <node-id> LOSE-WRITES")
	errNoSlots    = commands.WireError("ERR This instance has cluster support disabled")
	errWeight     = commands.WireError("ERR A weight is a number from 0 to 1000000")
	errNoWeight   = commands.WireError("ERR Some group has to have a weight above 0")
	errNotCovered = commands.WireError("ERR Some slots have no group, or are being moved: CLUSTER ADDSLOTS gives those without one to a group")
	errSelfAsNew  = commands.WireError("ERR A member cannot replace itself")
)

func errNotLeader(m *commands.Membership) error {
	if !m.Led || m.Leader < 0 {
		return errNoLeader
	}
	leader := m.Master()
	return commands.Errorf("ERR This member does not lead the group: ask %s", leader.Address())
}

func errUnknownNode(id []byte) commands.WireError {
	return commands.Errorf("ERR Unknown node %.128s", id)
}

func errGroupDown(id string) commands.WireError {
	return commands.Errorf("ERR The group %s has no leader that is heard now", id)
}

func errUnknownMember(name string) error {
	return commands.Errorf("ERR The group has no member '%.128s': members are named by their number, address or id", name)
}

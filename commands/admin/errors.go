package admin

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errNoSaving        = commands.WireError("ERR Background saving is currently not in progress or scheduled")
	errLateCancel      = commands.WireError("ERR The snapshot that is being made cannot be cancelled: it takes some milliseconds")
	errNoShutdown      = commands.WireError("ERR No shutdown in progress.")
	errSlowlogCount    = commands.WireError("ERR count should be greater than or equal to -1")
	errLogType         = commands.WireError("ERR type should be one of the following: slow, large-request, large-reply")
	errMonitorInMulti  = commands.WireError("ERR MONITOR isn't allowed for DENY BLOCKING client")
	errMasterPort      = commands.WireError("ERR Invalid master port")
	errNoPush          = commands.WireError("ERR RESP2 is not supported by this command")
	errProtocolType    = commands.WireError("ERR Wrong protocol type name. Please use one of the following: string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false")
	errPackedLimit     = commands.WireError("ERR argument must be a memory value bigger than 1 and smaller than 4gb")
	errGroupFollows    = commands.WireError("READONLY REPLICAOF is for the leader of a group: VIGIL.CLUSTER STATUS shows it")
	errSwapInCluster   = commands.WireError("ERR SWAPDB is not allowed in cluster mode")
	errFirstDBIndex    = commands.WireError("ERR invalid first DB index")
	errFailoverGroup   = commands.WireError("ERR FAILOVER not allowed in a group: its members elect the one that leads, see VIGIL.CLUSTER TRANSFER")
	errFailoverTimeout = commands.WireError("ERR FAILOVER timeout must be greater than 0")
	errChangesCount    = commands.WireError("ERR COUNT must be > 0")
	errNoExport        = commands.WireError("ERR no export is under way")
	errNoImport        = commands.WireError("ERR no import is under way")
	errSecondDBIndex   = commands.WireError("ERR invalid second DB index")
)

const (
	errHotKeysRun      = commands.WireError("ERR hotkey tracking session already in progress")
	errHotKeysActive   = commands.WireError("ERR hotkey tracking session in progress, stop tracking first")
	errHotKeysMetrics  = commands.WireError("ERR METRICS parameter is required")
	errHotKeysCount    = commands.WireError("ERR METRICS count must be > 0 and <= 2")
	errHotKeysMismatch = commands.WireError("ERR METRICS count does not match number of metric types provided")
	errHotKeysCPU      = commands.WireError("ERR METRICS CPU defined more than once!")
	errHotKeysNET      = commands.WireError("ERR METRICS NET defined more than once!")
	errHotKeysNone     = commands.WireError("ERR METRICS no valid metrics passed. Supported: CPU|NET")
	errHotKeysKeys     = commands.WireError("ERR COUNT must be between 1 and 64")
	errHotKeysDuration = commands.WireError("ERR DURATION must be between 1 and 1000000")
	errHotKeysSample   = commands.WireError("ERR SAMPLE ratio must be positive")
	errHotKeysAlone    = commands.WireError("ERR SLOTS parameter cannot be used in non-cluster mode")
	errHotKeysSlots    = commands.WireError("ERR SLOTS count must be between 1 and 16384")
	errHotKeysSlot     = commands.WireError("ERR Invalid or out of range slot")
	errHotKeysTwice    = commands.WireError("ERR duplicate slot number")
	errHotKeysFew      = commands.WireError("ERR not enough slot numbers provided")

	errHotKeysSlotsTwice = commands.WireError("ERR SLOTS parameter already specified")
)

const (
	errZeroOrOne    = commands.WireError("ERR value is out of range, value must between 0 and 1")
	errFilterValues = commands.WireError("ERR Missing rdb-filter-only values")
)

// errReplicaOption quotes an option of REPLCONF that is unknown.
func errReplicaOption(option []byte) error {
	return commands.Errorf("ERR Unrecognized REPLCONF option: %s", option)
}

// errFilterOption quotes what a replica asked for.
func errFilterOption(word string) error {
	return commands.Errorf("ERR Unsupported rdb-filter-only option: %s", word)
}

func errReplicaHost(n int) error {
	return commands.Errorf("ERR REPLCONF ip-address provided by replica instance is too long: %d bytes", n)
}

func errNoSamples(event string) error {
	return commands.Errorf("ERR No samples available for event '%s'", event)
}

// errHotKeysForeign is the error for a slot of another node.
func errHotKeysForeign(slot int) commands.WireError {
	return commands.Errorf("ERR slot %d not handled by this node", slot)
}

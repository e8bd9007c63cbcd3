package keys

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errSameObject       = commands.WireError("ERR source and destination objects are the same")
	errExpireNXOthers   = commands.WireError("ERR NX and XX, GT or LT options at the same time are not compatible")
	errExpireGTLT       = commands.WireError("ERR GT and LT options at the same time are not compatible")
	errLFUSelected      = commands.WireError("ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.")
	errLFUNotSelected   = commands.WireError("ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.")
	errNumLocalRange    = commands.WireError("ERR value is out of range, value must between 0 and 1")
	errNotWeights       = commands.WireError("ERR One or more scores can't be converted into double")
	errSortBy           = commands.WireError("ERR BY option of SORT denied due to insufficient ACL permissions.")
	errSortGet          = commands.WireError("ERR GET option of SORT denied due to insufficient ACL permissions.")
	errSortByInCluster  = commands.WireError("ERR BY option of SORT denied in Cluster mode when keys formed by the pattern may be in different slots.")
	errSortGetInCluster = commands.WireError("ERR GET option of SORT denied in Cluster mode when keys formed by the pattern may be in different slots.")
	errMoveInCluster    = commands.WireError("ERR MOVE is not allowed in cluster mode")
	errCopyInCluster    = commands.WireError("ERR Copying to another database is not allowed in cluster mode")
	errPayload          = commands.WireError("ERR Bad data format")
	errPayloadFrame     = commands.WireError("ERR DUMP payload version or checksum are wrong")
	errRestoreTTL       = commands.WireError("ERR Invalid TTL value, must be >= 0")
	errRestoreIdle      = commands.WireError("ERR Invalid IDLETIME value, must be >= 0")
	errRestoreFrequency = commands.WireError("ERR Invalid FREQ value, must be >= 0 and <= 255")
	errMigrateKeys      = commands.WireError("ERR When using MIGRATE KEYS option, the key argument must be set to the empty string")
	errMigrateSize      = commands.WireError("ERR the keys take more than 128 MB together, move fewer in one call")
	errMigrateChanged   = commands.WireError("ERR a key that was sent has changed since and was not removed here")
	errWaitUnsynced     = commands.WireError("ERR WAITAOF in a group needs appendfsync always: no member tells the others what is on its device otherwise")

	ErrMigrateConnect = commands.WireError("IOERR error or timeout connecting to the client")
	ErrMigrateWrite   = commands.WireError("IOERR error or timeout writing to target instance")
	ErrMigrateRead    = commands.WireError("IOERR error or timeout reading to target instance")
	ErrMigrateBusy    = commands.WireError("ERR too many calls of MIGRATE wait for other servers, try again later")
)

// errWaitAtFollower is the error of WAIT and WAITAOF on a server whose clients write
// nothing.
func errWaitAtFollower(command string) commands.WireError {
	return commands.Errorf("ERR %s cannot be used with replica instances", command)
}

// errPayloadUnknown is the error of RESTORE for a value of a type that vigil does not
// have. It begins as errPayload does, which is all that Redis says.
func errPayloadUnknown(what string) commands.WireError {
	return commands.Errorf("%s: %s", errPayload, what)
}

// errUnsupportedOption is EXPIRE's error for an unknown option.
func errUnsupportedOption(word []byte) commands.WireError {
	return commands.Errorf("ERR Unsupported option %s", word)
}

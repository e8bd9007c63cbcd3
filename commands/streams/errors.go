package streams

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errID             = commands.WireError("ERR Invalid stream ID specified as stream command argument")
	errStartID        = commands.WireError("ERR invalid start ID for the interval")
	errEndID          = commands.WireError("ERR invalid end ID for the interval")
	errIDZero         = commands.WireError("ERR The ID specified in XADD must be greater than 0-0")
	errIDSmall        = commands.WireError("ERR The ID specified in XADD is equal or smaller than the target stream top item")
	errIDExhausted    = commands.WireError("ERR The stream has exhausted the last possible ID, unable to add more items")
	errTwoTrims       = commands.WireError("ERR syntax error, MAXLEN and MINID options at the same time are not compatible")
	errMaxLen         = commands.WireError("ERR The MAXLEN argument must be >= 0.")
	errLimit          = commands.WireError("ERR The LIMIT argument must be >= 0.")
	errLimitAlone     = commands.WireError("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy")
	errLimitExact     = commands.WireError("ERR syntax error, LIMIT cannot be used without the special ~ option")
	errNoTrim         = commands.WireError("ERR syntax error, XTRIM must be called with a trimming strategy")
	errAddedNegative  = commands.WireError("ERR entries_added must be positive")
	errSetIDDeleted   = commands.WireError("ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id")
	errSetIDTombstone = commands.WireError("ERR The ID specified in XSETID is smaller than current max_deleted_entry_id")
	errSetIDSmall     = commands.WireError("ERR The ID specified in XSETID is smaller than the target stream top item")
	errAddedSmall     = commands.WireError("ERR The entries_added specified in XSETID is smaller than the target stream length")
	errNumIDs         = commands.WireError("ERR Number of IDs must be a positive integer")
	errNumIDsMatch    = commands.WireError("ERR The `numids` parameter must match the number of arguments")
	errReadClaim      = commands.WireError("ERR min-idle-time is not an integer")
	errReadClaimSign  = commands.WireError("ERR min-idle-time must be a positive integer")
	errClaimOfXREAD   = commands.WireError("ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead.")
	errGroupOfXREAD   = commands.WireError("ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.")
	errNoAckOfXREAD   = commands.WireError("ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.")
	errNewOfXREAD     = commands.WireError("ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.")
	errNoGroupOption  = commands.WireError("ERR Missing GROUP option for XREADGROUP")
	errGroupKey       = commands.WireError("ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.")
	errEntriesRead    = commands.WireError("ERR value for ENTRIESREAD must be positive or -1")
	errBusyGroup      = commands.WireError("BUSYGROUP Consumer Group name already exists")
	errManyGroups     = commands.WireError("ERR a stream cannot have more consumer groups")
	errClaimIdle      = commands.WireError("ERR Invalid min-idle-time argument for XCLAIM")
	errClaimIdleOpt   = commands.WireError("ERR Invalid IDLE option argument for XCLAIM")
	errClaimTime      = commands.WireError("ERR Invalid TIME option argument for XCLAIM")
	errClaimRetry     = commands.WireError("ERR Invalid RETRYCOUNT option argument for XCLAIM")
	errAutoClaimIdle  = commands.WireError("ERR Invalid min-idle-time argument for XAUTOCLAIM")
	errAutoClaimCount = commands.WireError("ERR COUNT must be > 0")
	errNameNeedsAuto  = commands.WireError("ERR IDMP/IDMPAUTO can be used only with auto-generated IDs")
	errNameTwice      = commands.WireError("ERR IDMP/IDMPAUTO specified multiple times")
	errNoName         = commands.WireError("ERR IDMP requires a non-empty idempotent ID")
	errDuration       = commands.WireError("ERR IDMP-DURATION must be between 1 and 86400 seconds")
	errMaxSize        = commands.WireError("ERR IDMP-MAXSIZE must be between 1 and 10000 entries")
	errNothingSet     = commands.WireError("ERR At least one parameter must be given")
	errReleaseMode    = commands.WireError("ERR mode must be SILENT, FAIL, or FATAL")
	errReleaseIDs     = commands.WireError("ERR syntax error, expected IDS keyword")
	errReleaseCount   = commands.WireError("ERR numids must be a positive integer")
	errReleaseMatch   = commands.WireError("ERR number of IDs doesn't match numids")
	errReleaseRetry   = commands.WireError("ERR Invalid RETRYCOUNT value, must be >= 0")
	errMaxCount       = commands.WireError("ERR MAXCOUNT must be a positive integer")
	errMaxCountSmall  = commands.WireError("ERR MAXCOUNT must not be less than COUNT")
	errMaxBytes       = commands.WireError("ERR MAXSIZE must be a positive integer")
)

// errUnbalanced tells that STREAMS has not as many IDs as keys.
func errUnbalanced(c *commands.Ctx) error {
	ids := "ID, '+', or '$'"
	if c.Command.Name == "XREADGROUP" {
		ids = "ID or '>'"
	}
	return commands.Errorf("ERR Unbalanced '%s' list of streams: for each stream key an %s must be specified.", c.Command.FullName(), ids)
}

// errMeaningless tells that an ID of XREAD cannot be given to XREADGROUP.
func errMeaningless(id []byte) error {
	return commands.Errorf("ERR The %s ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer "+
		"by specifying a proper ID, or use the > ID to get new messages. The %s ID would just return an empty result set.", id, id)
}

// errNoGroup tells that there is no such key or group.
func errNoGroup(key, group []byte) error {
	return commands.Errorf("NOGROUP No such key '%s' or consumer group '%s'", key, group)
}

func errNoGroupToRead(key, group []byte) error {
	return commands.Errorf("NOGROUP No such key '%s' or consumer group '%s' in XREADGROUP with GROUP option", key, group)
}

func errNoGroupOf(key, group []byte) error {
	return commands.Errorf("NOGROUP No such consumer group '%s' for key name '%s'", group, key)
}

// errNoProducer tells that an option has an empty producer.
func errNoProducer(option string) error {
	return commands.Errorf("ERR %s requires a non-empty producer ID", option)
}

func errReleaseOption(option []byte) error {
	return commands.Errorf("ERR Unrecognized XNACK option '%s'", option)
}

func errClaimOption(option []byte) error {
	return commands.Errorf("ERR Unrecognized XCLAIM option '%s'", option)
}

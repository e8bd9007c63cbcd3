package conn

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errNoImportMode    = commands.WireError("ERR Server is not in import mode")
	errNoPassSet       = commands.WireError("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
	errSelectInCluster = commands.WireError("ERR SELECT is not allowed in cluster mode")
	errNoProto         = commands.WireError("NOPROTO unsupported protocol version")
	errNoSuchClient    = commands.WireError("ERR No such client")
	errBadClientName   = commands.WireError("ERR Client names cannot contain spaces, newlines or special characters.")
	errProtoNotInteger = commands.WireError("ERR Protocol version is not an integer or out of range")
	errHelloNoAuth     = commands.WireError("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time")
	errInvalidClientID = commands.WireError("ERR Invalid client ID")
	errClientIDRange   = commands.WireError("ERR client-id should be greater than 0")
	errMaxAge          = commands.WireError("ERR maxage is not an integer or out of range")
	errMaxAgeRange     = commands.WireError("ERR maxage should be greater than 0")
	errIdle            = commands.WireError("ERR idle is not an integer or out of range")
	errIdleRange       = commands.WireError("ERR idle should be greater than 0")
	errUnblockReason   = commands.WireError("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
	errPauseMode       = commands.WireError("ERR CLIENT PAUSE mode must be WRITE or ALL")

	errSecondRedirect   = commands.WireError("ERR A client can only redirect to a single other client")
	errNoRedirect       = commands.WireError("ERR The client ID you want redirect to does not exist")
	errPrefixNeedsBcast = commands.WireError("ERR PREFIX option requires BCAST mode to be enabled")
	errSwitchBcast      = commands.WireError("ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode.")
	errBcastOptions     = commands.WireError("ERR OPTIN and OPTOUT are not compatible with BCAST")
	errBothOptions      = commands.WireError("ERR You can't specify both OPTIN mode and OPTOUT mode")
	errSwitchOptions    = commands.WireError("ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode.")
	errPrefixLimit      = commands.WireError("ERR a client can ask for 1000 prefixes, and 64 KiB of them")
	errCachingOff       = commands.WireError("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
	errCachingYes       = commands.WireError("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")
	errCachingNo        = commands.WireError("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")
)

// errPrefixExists names a prefix that overlaps with one that the client asked for before.
func errPrefixExists(prefix, other string) commands.WireError {
	return commands.Errorf("ERR Prefix '%s' overlaps with an existing prefix '%s'. Prefixes for a single client must not overlap.", prefix, other)
}

// errPrefixTwice names two prefixes of one call that overlap.
func errPrefixTwice(prefix, other string) commands.WireError {
	return commands.Errorf("ERR Prefix '%s' overlaps with another provided prefix '%s'. Prefixes for a single client must not overlap.", prefix, other)
}

// errHelloOption quotes an option of HELLO that is unknown or incomplete.
func errHelloOption(option []byte) commands.WireError {
	return commands.Errorf("ERR Syntax error in HELLO option '%s'", option)
}

// errUnknownClientType quotes a type of client that there is not.
func errUnknownClientType(word []byte) commands.WireError {
	return commands.Errorf("ERR Unknown client type '%s'", word)
}

// errFilterDB names a filter whose value is no number, NOT-DB perhaps.
func errFilterDB(word string) commands.WireError {
	return commands.Errorf("ERR %s is not an integer or out of range", word)
}

// errFilterDBRange names one whose database there is not.
func errFilterDBRange(word string, last int64) commands.WireError {
	return commands.Errorf("ERR %s number should be between 0 and %d", word, last)
}

// errFilterLetters quotes the letters of a filter, some of them unknown.
func errFilterLetters(word string, not bool, what, letters string) commands.WireError {
	filter := "provided"
	if not {
		filter = word
	}
	return commands.Errorf("ERR Unknown %s found in the %s filter: %s", what, filter, letters)
}

// errNoSuchUser names a user that there is not.
func errNoSuchUser(name string) commands.WireError {
	return commands.Errorf("ERR No such user '%s'", name)
}

// errUnknownOption quotes an attribute that CLIENT SETINFO does not know.
func errUnknownOption(word []byte) commands.WireError {
	return commands.Errorf("ERR Unrecognized option '%s'", word)
}

// errBadClientInfo names an attribute whose value would break CLIENT LIST.
func errBadClientInfo(attr []byte) commands.WireError {
	return commands.Errorf("ERR %s cannot contain spaces, newlines or special characters.", attr)
}

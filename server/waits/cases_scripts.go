package waits

var scriptCases = []Case{
	{Command: "EVAL", What: "keys", Call: counted(key, []string{"EVAL", "return #KEYS"})},
	{Command: "EVAL", What: "argument", Bytes: true, Call: sized(nil, "EVAL", "return #ARGV[1]", "0")},
	{Command: "EVAL_RO", What: "keys", Call: counted(key, []string{"EVAL_RO", "return #KEYS"})},
	{Command: "SCRIPT LOAD", What: "script", Bytes: true, Call: refused(sized(nil, "SCRIPT", "LOAD"))},
	{Command: "SCRIPT SHOW", What: "script", Bytes: true, Call: refused(sized(nil, "SCRIPT", "SHOW"))},
	{Command: "SCRIPT EXISTS", What: "digests", Call: many(1, one, []string{"SCRIPT", "EXISTS"})},
	{Command: "FCALL", What: "keys", Before: library, Call: counted(key, []string{"FCALL", "waits"})},
	{Command: "FCALL_RO", What: "keys", Before: library, Call: counted(key, []string{"FCALL_RO", "waits"})},
	{Command: "FUNCTION LOAD", What: "library", Bytes: true, Call: refused(sized(nil, "FUNCTION", "LOAD"))},
	{Command: "FUNCTION RESTORE", What: "payload", Bytes: true, Call: refused(sized(nil, "FUNCTION", "RESTORE"))},
	{Command: "FUNCTION LIST", What: "pattern", Bytes: true, Call: sized(nil, "FUNCTION", "LIST", "LIBRARYNAME")},
}

// library loads a function that returns how many keys it got.
var library = call("FUNCTION", "LOAD", "REPLACE", `#!lua name=waits
redis.register_function{function_name='waits', callback=function(keys) return #keys end, flags={'no-writes'}}`)

package rdbfile

// Records that are no keys, by their first byte. The numbers are Redis's.
const (
	opRAM         = 107 // Redis Enterprise: a length
	opFlash       = 121 // likewise
	opTemplate    = 242 // Redis 8.10: names of fields, see package rdb
	opMeta        = 243 // Redis 8.6: metadata of the next key: classes, for each 4 bytes and fields of a module
	opSlotImport  = 243 // Valkey 9: name, ranges of slots, for each two lengths
	opSlotInfo    = 244 // slot, keys, expiries
	opFunction    = 245 // the source of a library
	opFunctionOld = 246 // the form of release candidates of Redis 7.0
	opModuleAux   = 247 // what a module has beside keys
	opIdle        = 248 // of the next key, in seconds: a length
	opFreq        = 249 // of the next key (1)
	opAux         = 250 // name, text
	opResize      = 251 // keys, expiries: a hint
	opExpiryMs    = 252 // of the next key, unix ms (8, little endian)
	opExpiry      = 253 // of the next key, unix s (4, little endian)
	opDatabase    = 254 // a length: keys that follow are in this one
	opEnd         = 255
)

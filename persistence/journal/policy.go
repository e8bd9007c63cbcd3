package journal

// SyncPolicy says when the journal is forced to the device.
type SyncPolicy int

const (
	// SyncEverySecond forces it once a second: a crash of the machine loses at
	// most the last second.
	SyncEverySecond SyncPolicy = iota
	// SyncAlways forces it as soon as possible, many writers' records at once.
	// [Durability.WaitSynced] waits for it.
	SyncAlways
	// SyncNever leaves it to the operating system.
	SyncNever
)

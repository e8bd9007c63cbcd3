package structures

// Compact is a value that a store can keep as a run of bytes instead, as long as
// nobody works on it. These bytes are in memory only and may change from
// version to version; they hold all that Value has but its pages on disk.
type Compact interface {
	Value
	// IsCompact reports whether the value is one of up to about limit bytes, at most
	// some kilobytes, that can be appended. It costs O(1).
	IsCompact(limit int) bool
	// AppendCompact appends the value, for which IsCompact is true, to dst.
	AppendCompact(dst []byte) []byte
	// LoadCompact makes the receiver, regardless of its content, the value that
	// AppendCompact appended. Its memory is used again. b is copied.
	LoadCompact(b []byte)
}

// Reusable is a Compact that has one form when it is created, the empty one, so
// that the memory of another one can be used again.
type Reusable interface {
	Compact
	// Reset makes the receiver, regardless of its content, an empty value.
	Reset()
}

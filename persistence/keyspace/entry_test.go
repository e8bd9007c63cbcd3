package keyspace

import (
	"testing"
	"unsafe"
)

// Each value that is no record has an object: a field more, or fields in another order, can cost as many values 16 bytes.
func TestObjectIsOfASizeClass(t *testing.T) {
	if got := unsafe.Sizeof(Object{}); got != 112 {
		t.Errorf("an object takes %d bytes, and the allocator gives 112 to one of 97 to 112", got)
	}
}

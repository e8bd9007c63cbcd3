// Package paged is the life of the pages of a large value: in memory or on disk only, changed or stored,
// evicted and read back.
//
// The one idea: a value keeps its pages where it wants them, in an order of their numbers, and tells a [Set] how to
// find, encode and decode one ([Pages]). The Set knows what has become of them. So a type writes the bytes of a page, and
// no rule of what may leave memory when.
//
// Nothing in here locks. A Set is a field of its value, which passes itself with each call: a pointer back would cost
// every small value eight bytes.
package paged

package lualib

// osLibrary is what Redis leaves of Lua's library os: the processor time in seconds.
func osLibrary() library {
	return library{"clock": func(c call) int { return c.pushNumber(c.h.world.processorTime().Seconds()) }}
}

module github.com/vigildb/vigil/placement/bench

go 1.26.0

require (
	github.com/buraksezer/consistent v0.10.0
	github.com/dgryski/go-jump v0.0.0-20170409065014-e1f439676b57
	github.com/dgryski/go-maglev v0.0.0-20200611225407-8961b9b1b8e6
	github.com/dgryski/go-rendezvous v0.0.0-20200823014737-9f7001d12a5f
	github.com/lithammer/go-jump-consistent-hash v1.0.2
	github.com/serialx/hashring v0.0.0-20200727003509-22c0c7ab6b1b
	github.com/vigildb/vigil v0.0.0
	github.com/wdamron/go-anchorhash v0.0.0-20190327070005-3177082fab07
	gonum.org/v1/plot v0.17.0
	stathat.com/c/consistent v1.0.0
)

require (
	codeberg.org/go-fonts/liberation v0.5.0 // indirect
	codeberg.org/go-latex/latex v0.2.0 // indirect
	codeberg.org/go-pdf/fpdf v0.11.1 // indirect
	git.sr.ht/~sbinet/gg v0.7.0 // indirect
	github.com/ajstarks/svgo v0.0.0-20211024235047-1546f124cd8b // indirect
	github.com/dchest/siphash v1.2.3 // indirect
	github.com/golang/freetype v0.0.0-20170609003504-e2365dfdc4a0 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	golang.org/x/image v0.30.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/vigildb/vigil => ../..

module github.com/vigildb/vigil

go 1.26

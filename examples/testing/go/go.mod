module imagekiln.example/testing

go 1.19

from rca_eval.cli.main import main

main()
